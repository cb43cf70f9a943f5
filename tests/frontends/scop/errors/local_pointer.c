void f(int n, double x[n]) {
  float *p = x;
  p[0] = 1;
}
