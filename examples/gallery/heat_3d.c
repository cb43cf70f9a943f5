/* The heat equation in a box, forth and back between two arrays. */
void heat_3d(int steps, int n, double A[restrict n][n][n], double B[restrict n][n][n])
{
#define STEP(TO, FROM)                                                                            \
    for (int i = 1; i < n - 1; i++)                                                               \
        for (int j = 1; j < n - 1; j++)                                                           \
            for (int k = 1; k < n - 1; k++)                                                       \
                TO[i][j][k] = 0.125 * (FROM[i + 1][j][k] - 2.0 * FROM[i][j][k] + FROM[i - 1][j][k]) \
                              + 0.125 * (FROM[i][j + 1][k] - 2.0 * FROM[i][j][k] + FROM[i][j - 1][k]) \
                              + 0.125 * (FROM[i][j][k + 1] - 2.0 * FROM[i][j][k] + FROM[i][j][k - 1]) \
                              + FROM[i][j][k];
    for (int t = 1; t <= steps; t++) {
        STEP(B, A)
        STEP(A, B)
    }
}
