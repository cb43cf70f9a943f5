/* Sums of columns, rows inside. sizes: n=1000, m=900 */
void column_sums(int n, int m, const double a[restrict n][m], double s[restrict m])
{
    for (int j = 0; j < m; j++) {
        s[j] = 0;
        for (int i = 0; i < n; i++)
            s[j] += a[i][j];
    }
}
