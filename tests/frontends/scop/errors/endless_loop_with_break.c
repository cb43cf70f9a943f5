int f(int n) {
  int k = 0;
  for (;;) {
    k += 3;
    if (k > n)
      break;
  }
  return k;
}
