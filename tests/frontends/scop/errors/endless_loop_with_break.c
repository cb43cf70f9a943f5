int f(int n) {
  int k = 0;
  for (;;) {
    k = 2 * k + 1;
    if (k > n)
      break;
  }
  return k;
}
