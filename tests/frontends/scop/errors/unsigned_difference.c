void f(unsigned n, double x[n]) {
  for (unsigned i = 0; i < n - 1; i++)
    x[i] = 0;
}
