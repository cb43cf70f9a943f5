void f(int n, double x[n]) {
  again:
  x[0] = 1;
  goto again;
}
