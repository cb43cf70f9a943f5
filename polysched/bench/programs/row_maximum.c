/* The largest number of each row. sizes: n=800, m=1000 */
void row_maximum(int n, int m, const float a[restrict n][m], float largest[restrict n])
{
    for (int i = 0; i < n; i++) {
        float most = a[i][0];
        for (int j = 1; j < m; j++)
            most = a[i][j] > most ? a[i][j] : most;
        largest[i] = most;
    }
}
