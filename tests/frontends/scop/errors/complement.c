void f(int n, int x[n]) {
  x[0] = ~x[1];
}
