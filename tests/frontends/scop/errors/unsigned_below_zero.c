void f(unsigned n, double x[n]) {
  for (unsigned i = n; i >= 0; i--)
    x[0] = 1;
}
