void f(int n, double x[n]) {
  double t[4] = {[2] = 1, 2};
  x[0] = t[0];
}
