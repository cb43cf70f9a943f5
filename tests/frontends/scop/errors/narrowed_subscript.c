void f(long n, double x[n]) {
  double *row = x + 1;
  if (x[0] < 0)
    row[(char)n] = 0;
}
