/* RNA folding after Nussinov: the most pairs of bases, by intervals. */
#define MAX(a, b) ((a) >= (b) ? (a) : (b))

void nussinov(int n, const signed char base[n], int score[restrict n][n])
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            for (int k = i + 1; k < j; k++)
                score[i][j] = MAX(score[i][j], score[i][k] + score[k + 1][j]);
            if (j - 1 >= 0)
                score[i][j] = MAX(score[i][j], score[i][j - 1]);
            if (i + 1 < n)
                score[i][j] = MAX(score[i][j], score[i + 1][j]);
            if (j - 1 >= 0 && i + 1 < n) {
                if (i < j - 1)
                    score[i][j] = MAX(score[i][j],
                                      score[i + 1][j - 1] + (base[i] + base[j] == 3 ? 1 : 0));
                else
                    score[i][j] = MAX(score[i][j], score[i + 1][j - 1]);
            }
        }
}
