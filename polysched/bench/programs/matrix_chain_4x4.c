/* Points transformed by two 4 by 4 matrices. sizes: n=20000 */
void matrix_chain_4x4(int n, const float M[restrict 4][4], const float N[restrict 4][4],
                      const float p[restrict n][4], float q[restrict n][4])
{
    float T[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            T[i][j] = 0;
            for (int k = 0; k < 4; k++)
                T[i][j] += M[i][k] * N[k][j];
        }
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 4; i++) {
            q[v][i] = 0;
            for (int j = 0; j < 4; j++)
                q[v][i] += T[i][j] * p[v][j];
        }
}
