/* A rank-two update of A, then products of A with vectors. */
void gemver(int n, double alpha, double beta, double A[restrict n][n], const double u1[n],
            const double v1[n], const double u2[n], const double v2[n], double w[restrict n],
            double x[restrict n], const double y[n], const double z[n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i][j] = A[i][j] + u1[i] * v1[j] + u2[i] * v2[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i] = x[i] + beta * A[j][i] * y[j];
    for (int i = 0; i < n; i++)
        x[i] = x[i] + z[i];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            w[i] = w[i] + alpha * A[i][j] * x[j];
}
