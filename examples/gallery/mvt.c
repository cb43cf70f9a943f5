/* Products of a matrix and of its transpose with vectors. */
void mvt(int n, double x1[restrict n], double x2[restrict n], const double y1[n],
         const double y2[n], const double A[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] += A[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] += A[j][i] * y2[j];
}
