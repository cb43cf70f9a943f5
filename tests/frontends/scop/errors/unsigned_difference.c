void f(unsigned n, double x[n]) {
  for (unsigned i = 0; i < n; i++)
    for (unsigned k = 0; k < i - 1; k++)
      x[k] = 0;
}
