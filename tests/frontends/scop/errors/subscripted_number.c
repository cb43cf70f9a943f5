void f(int n, double a, double x[n]) {
  x[0] = a[1];
}
