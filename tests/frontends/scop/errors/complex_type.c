void f(int n, double _Complex x[n]) {
  x[0] = 1;
}
