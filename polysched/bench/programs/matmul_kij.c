/* A product in the order k, i, j, added to C. sizes: n=400, m=420, p=440 */
void matmul_kij(int n, int m, int p, const float A[restrict n][p], const float B[restrict p][m],
                float C[restrict n][m])
{
    for (int k = 0; k < p; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++)
                C[i][j] += A[i][k] * B[k][j];
}
