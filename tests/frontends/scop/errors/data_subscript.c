void f(int n, double x[n], int k[n]) {
  double *row = x + 1;
  for (int i = 0; i < n; i++)
    if (x[i] < 0)
      row[k[i]] = 0;
}
