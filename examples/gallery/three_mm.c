/* G = (A*B) * (C*D): three products. */
void three_mm(int n, int m, int p, int q, int r, double E[restrict n][m], const double A[n][p],
              const double B[p][m], double F[restrict m][q], const double C[m][r],
              const double D[r][q], double G[restrict n][q])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            E[i][j] = 0;
            for (int k = 0; k < p; k++)
                E[i][j] += A[i][k] * B[k][j];
        }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < q; j++) {
            F[i][j] = 0;
            for (int k = 0; k < r; k++)
                F[i][j] += C[i][k] * D[k][j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < q; j++) {
            G[i][j] = 0;
            for (int k = 0; k < m; k++)
                G[i][j] += E[i][k] * F[k][j];
        }
}
