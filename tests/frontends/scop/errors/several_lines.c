void f(int n, double x[n], double A[9][300]) {
  double *row = A[1];
  for (int i = 0; i < n; i++)
    if (x[i] < 0)
      x[i] = 2 * row[i *
                     n] + 1;
}
