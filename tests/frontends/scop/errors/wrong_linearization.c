void f(int n, int m, double *A) {
#pragma polysched shape A[n][m]
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      A[i * n + j] = 0;
}
