/* Squared distances of all points of two clouds. sizes: n=500, m=600, d=16 */
void distances(int n, int m, int d, const float a[restrict n][d], const float b[restrict m][d],
               float dist[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k < d; k++) {
                float delta = a[i][k] - b[j][k];
                sum += delta * delta;
            }
            dist[i][j] = sum;
        }
}
