void f(int n, double x[n]) {
  double t[2][2] = {{1, 2}, 3};
  x[0] = t[0][0];
}
