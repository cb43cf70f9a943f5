/* Points x, y, z in turn, rotated and moved. sizes: n=30000 */
void rotate_points(int n, const float R[restrict 3][3], const float t[restrict 3],
                   const float p[restrict n][3], float q[restrict n][3])
{
    for (int v = 0; v < n; v++)
        for (int i = 0; i < 3; i++) {
            float sum = t[i];
            for (int j = 0; j < 3; j++)
                sum += R[i][j] * p[v][j];
            q[v][i] = sum;
        }
}
