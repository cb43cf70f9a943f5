void f(int n, long double x[n]) {
  x[0] = 1;
}
