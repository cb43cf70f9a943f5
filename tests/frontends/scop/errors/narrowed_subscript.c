void f(long n, double x[n]) {
  x[(char)n] = 0;
}
