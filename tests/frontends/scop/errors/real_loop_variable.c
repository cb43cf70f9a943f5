void f(int n, double x[n]) {
  for (double t = 0; t < n; t++)
    x[0] = t;
}
