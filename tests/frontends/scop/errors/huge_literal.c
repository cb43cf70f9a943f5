void f(int n, double x[n]) {
  x[99999999999999999999] = 1;
}
