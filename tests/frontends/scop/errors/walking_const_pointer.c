double f(int n, const double x[n]) {
  const double *p = x;
  double s = 0;
  for (int i = 0; i < n; i++)
    s += *p++;
  return s + *p;
}
