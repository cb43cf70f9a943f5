void f(int n, int m, int k, double *A) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * m + j * k] = 0;
}
