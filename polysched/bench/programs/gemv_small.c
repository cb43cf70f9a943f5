/* Products of small matrices and vectors. sizes: b=2000, n=24, m=24 */
void gemv_small(int b, int n, int m, const float A[restrict b][n][m], const float x[restrict b][m],
                float y[restrict b][n])
{
    for (int t = 0; t < b; t++)
        for (int i = 0; i < n; i++) {
            float sum = 0;
            for (int j = 0; j < m; j++)
                sum += A[t][i][j] * x[t][j];
            y[t][i] = sum;
        }
}
