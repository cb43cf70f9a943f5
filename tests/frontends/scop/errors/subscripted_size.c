void f(int n, double x[n]) {
  x[0] = n[1];
}
