void f(int n, const double x[n]) {
  x[0] = 1;
}
