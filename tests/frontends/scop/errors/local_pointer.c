void f(int n, double x[n]) {
  double *p = x;
  p[0] = 1;
}
