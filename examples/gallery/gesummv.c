/* y = alpha*A*x + beta*B*x. */
void gesummv(int n, double alpha, double beta, const double A[n][n], const double B[n][n],
             const double x[n], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        double a = 0;
        double b = 0;
        for (int j = 0; j < n; j++) {
            a += A[i][j] * x[j];
            b += B[i][j] * x[j];
        }
        y[i] = alpha * a + beta * b;
    }
}
