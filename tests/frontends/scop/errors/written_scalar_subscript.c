void f(int n, double x[n]) {
  int k = 0;
  for (int i = 0; i < n; i++) {
    x[k] = 0;
    k += 2;
  }
}
