/* Edit distance, in a table stored in a row. sizes: n=2000, m=1900 */
static int least(int a, int b) { return a < b ? a : b; }

void edit_distance(int n, int m, const unsigned char a[restrict n],
                   const unsigned char b[restrict m], int *restrict d)
{
    for (int i = 0; i <= n; i++)
        d[i * (m + 1)] = i;
    for (int j = 0; j <= m; j++)
        d[j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            int change = d[(i - 1) * (m + 1) + j - 1] + (a[i - 1] != b[j - 1]);
            int remove = d[(i - 1) * (m + 1) + j] + 1;
            int insert = d[i * (m + 1) + j - 1] + 1;
            d[i * (m + 1) + j] = least(change, least(remove, insert));
        }
}
