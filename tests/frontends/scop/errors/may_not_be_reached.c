void f(int n, double x[n]) {
  for (int i = 0; i != n - 1; i++) {
    if (x[i] < 0)
      break;
    x[i] = 0;
  }
}
