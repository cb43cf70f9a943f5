void f(int n, double x[n]) {
  x[n / 0] = 1;
}
