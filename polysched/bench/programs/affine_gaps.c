/* Local alignment of two texts with affine gaps (Smith-Waterman, Gotoh). sizes: n=1000, m=1200 */
static int larger(int a, int b) { return a > b ? a : b; }

void affine_gaps(int n, int m, int open, int extend, const unsigned char a[restrict n],
                 const unsigned char b[restrict m], int h[restrict n + 1][m + 1],
                 int e[restrict n + 1][m + 1], int f[restrict n + 1][m + 1])
{
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            e[i][j] = larger(e[i][j - 1] - extend, h[i][j - 1] - open);
            f[i][j] = larger(f[i - 1][j] - extend, h[i - 1][j] - open);
            int match = h[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 3 : -2);
            h[i][j] = larger(0, larger(match, larger(e[i][j], f[i][j])));
        }
}
