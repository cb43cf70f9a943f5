void f(unsigned n, unsigned m, double x[n]) {
  for (unsigned i = 0; i < n; i += m)
    x[i] = 0;
}
