int f(int n, const double *x, double *sum) {
  double s = 0;
  if (n < 0 || x == 0 || !sum)
    return -1;
  for (int i = 0; i < n; i++)
    s += x[i];
  *sum = s;
  return 0;
}
