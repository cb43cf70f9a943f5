/* A product along the last dimension of a tensor, in place. */
void doitgen(int r, int q, int p, double A[restrict r][q][p], const double C[p][p])
{
    double sum[p];
    for (int i = 0; i < r; i++)
        for (int j = 0; j < q; j++) {
            for (int k = 0; k < p; k++) {
                sum[k] = 0;
                for (int s = 0; s < p; s++)
                    sum[k] += A[i][j][s] * C[s][k];
            }
            for (int k = 0; k < p; k++)
                A[i][j][k] = sum[k];
        }
}
