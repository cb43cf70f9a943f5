void f(int n, double x[n]) {
  x[1.5] = 0;
}
