void f(int n, double x[n], double A[9][300]) {
  double *row = A[1];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (x[i] < 0)
        row[i * j] = 0;
}
