void f(int n, double x[n]) {
  printf("%d", n);
  x[0] = 1;
}
