/* Longest common subsequence of two texts. sizes: n=2000, m=2100 */
void lcs(int n, int m, const unsigned char a[restrict n], const unsigned char b[restrict m],
         int best[restrict n + 1][m + 1])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            if (a[i] == b[j])
                best[i + 1][j + 1] = best[i][j] + 1;
            else if (best[i][j + 1] >= best[i + 1][j])
                best[i + 1][j + 1] = best[i][j + 1];
            else
                best[i + 1][j + 1] = best[i + 1][j];
        }
}
