void f(int n, double x[n]) {
  x[0] = pow(x[1]);
}
