/* Tridiagonal systems, one a row, by elimination. sizes: m=1000, n=400 */
void thomas(int m, int n, const float lower[restrict n], const float upper[restrict n],
            float d[restrict m][n], float c[restrict n])
{
    c[0] = upper[0] / 4.0f;
    for (int i = 1; i < n; i++)
        c[i] = upper[i] / (4.0f - lower[i] * c[i - 1]);
    for (int r = 0; r < m; r++) {
        d[r][0] = d[r][0] / 4.0f;
        for (int i = 1; i < n; i++)
            d[r][i] = (d[r][i] - lower[i] * d[r][i - 1]) / (4.0f - lower[i] * c[i - 1]);
        for (int i = n - 2; i >= 0; i--)
            d[r][i] -= c[i] * d[r][i + 1];
    }
}
