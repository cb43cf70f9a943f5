void f(int n, ...) {
  int k = n;
}
