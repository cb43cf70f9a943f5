void f(long n, double x[n]) {
  if (x[0] < 0)
    x[(char)n] = 0;
}
