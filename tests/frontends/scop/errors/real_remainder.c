void f(int n, double x[n]) {
  x[0] = x[1] % 2;
}
