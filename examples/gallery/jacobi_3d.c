/* Jacobi sweeps over a box: the mean of six neighbors. */
void jacobi_3d(int steps, int n, float A[restrict n][n][n], float B[restrict n][n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = (A[i - 1][j][k] + A[i + 1][j][k] + A[i][j - 1][k] + A[i][j + 1][k]
                                  + A[i][j][k - 1] + A[i][j][k + 1]) / 6;
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = B[i][j][k];
    }
}
