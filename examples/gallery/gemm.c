/* C = beta*C + alpha*A*B. */
void gemm(int n, int m, int p, double alpha, double beta, double C[restrict n][m],
          const double A[n][p], const double B[p][m])
{
    for (int i = 0; i < n; i++) {
        double a[p];
        for (int j = 0; j < m; j++)
            C[i][j] *= beta;
        for (int k = 0; k < p; k++)
            a[k] = alpha * A[i][k];
        for (int k = 0; k < p; k++)
            for (int j = 0; j < m; j++)
                C[i][j] += a[k] * B[k][j];
    }
}
