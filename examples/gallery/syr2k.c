/* The lower triangle of C = beta*C + alpha*(A*B^T + B*A^T). */
void syr2k(int n, int m, double alpha, double beta, double C[restrict n][n], const double A[n][m],
           const double B[n][m])
{
    for (int i = 0; i < n; i++) {
        double a[m], b[m];
        for (int j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (int k = 0; k < m; k++) {
            a[k] = alpha * A[i][k];
            b[k] = alpha * B[i][k];
        }
        for (int k = 0; k < m; k++)
            for (int j = 0; j <= i; j++) {
                C[i][j] += b[k] * A[j][k];
                C[i][j] += a[k] * B[j][k];
            }
    }
}
