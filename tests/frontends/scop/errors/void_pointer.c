void f(int n, void *x) {
  x[0] = 1;
}
