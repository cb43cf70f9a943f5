/* Edit distance of two texts. sizes: n=2000, m=1900 */
static int least(int a, int b) { return a < b ? a : b; }

void edit_distance(int n, int m, const unsigned char a[restrict n],
                   const unsigned char b[restrict m], int d[restrict n + 1][m + 1])
{
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int change = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            int remove = d[i - 1][j] + 1;
            int insert = d[i][j - 1] + 1;
            d[i][j] = least(change, least(remove, insert));
        }
}
