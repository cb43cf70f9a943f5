/* The cheapest way down a grid of costs, straight or diagonal. sizes: n=1000, m=2000 */
void path_sum(int n, int m, const float cost[restrict n][m], float best[restrict n][m])
{
    for (int j = 0; j < m; j++)
        best[0][j] = cost[0][j];
    for (int i = 1; i < n; i++)
        for (int j = 1; j < m - 1; j++) {
            float least = best[i - 1][j];
            if (best[i - 1][j - 1] < least)
                least = best[i - 1][j - 1];
            if (best[i - 1][j + 1] < least)
                least = best[i - 1][j + 1];
            best[i][j] = least + cost[i][j];
        }
}
