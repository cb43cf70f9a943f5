void f(int n, double x[n]) {
  memset(x, 0, sizeof(x));
}
