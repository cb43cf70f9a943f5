/* The lower triangle of C = beta*C + alpha*A*A^T. */
void syrk(int n, int m, double alpha, double beta, double C[restrict n][n], const double A[n][m])
{
    for (int i = 0; i < n; i++) {
        double a[m];
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++)
            a[k] = alpha * A[i][k];
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++)
                C[i][j] += a[k] * A[j][k];
    }
}
