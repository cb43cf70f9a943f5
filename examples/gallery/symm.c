/* C = beta*C + alpha*A*B, A symmetric, of which the lower triangle is stored. */
void symm(int m, int n, double alpha, double beta, double C[restrict m][n], const double A[m][m],
          const double B[m][n])
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < i; k++)
                sum += B[k][j] * A[i][k];
            C[i][j] = beta * C[i][j] + alpha * B[i][j] * A[i][i] + alpha * sum;
            for (int k = 0; k < i; k++)
                C[k][j] += alpha * B[i][j] * A[i][k];
        }
}
