void f(int n, const double m[n], double *x) {
  double *row = x + 1;
  for (int i = 0; i < n; i++)
    if (m[i] > 0)
      row[i] = 0;
}
