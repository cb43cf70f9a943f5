void f(int n, double x[n]) {
  x[0] = sqtr(x[1]);
}
