int f(int n, const double *x, double *sum) {
  double s = 0;
  const double *last = x + n;
  if (n < 0 || last == 0)
    return -1;
  for (int i = 0; i < n; i++)
    s += x[i];
  *sum = s;
  return 0;
}
