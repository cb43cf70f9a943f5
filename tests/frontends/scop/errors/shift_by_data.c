void f(int n, int x[n]) {
  x[0] = 1 << x[1];
}
