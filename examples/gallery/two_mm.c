/* D = beta*D + (alpha*A*B)*C: two products in a row. */
void two_mm(int n, int m, int p, int q, double alpha, double beta, double T[restrict n][m],
            const double A[n][p], const double B[p][m], const double C[m][q],
            double D[restrict n][q])
{
    for (int i = 0; i < n; i++) {
        double a[p];
        for (int k = 0; k < p; k++)
            a[k] = alpha * A[i][k];
        for (int j = 0; j < m; j++) {
            T[i][j] = 0;
            for (int k = 0; k < p; k++)
                T[i][j] += a[k] * B[k][j];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < q; j++) {
            D[i][j] *= beta;
            for (int k = 0; k < m; k++)
                D[i][j] += T[i][k] * C[k][j];
        }
}
