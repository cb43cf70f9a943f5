void f(int n, double x[n]) {
  x[0] = 1 @ 2;
}
