/* The best value of a few things for every capacity, a row for each thing. sizes: n=100, c=20000 */
void knapsack(int n, int c, const int value[restrict n], int best[restrict n + 1][c + 64])
{
    for (int i = 0; i < n; i++)
        for (int w = 0; w < c; w++) {
            int without = best[i][w + 64];
            int with = best[i][w + 60] + value[i];
            best[i + 1][w + 64] = with > without ? with : without;
        }
}
