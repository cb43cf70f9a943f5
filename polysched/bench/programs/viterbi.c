/* The best score of each state after each step of a hidden Markov model. sizes: steps=200, s=128 */
void viterbi(int steps, int s, const float move[restrict s][s], const float emit[restrict steps][s],
             float score[restrict steps][s])
{
    for (int j = 0; j < s; j++)
        score[0][j] = emit[0][j];
    for (int t = 1; t < steps; t++)
        for (int j = 0; j < s; j++) {
            float best = score[t - 1][0] + move[0][j];
            for (int i = 1; i < s; i++) {
                float other = score[t - 1][i] + move[i][j];
                if (other > best)
                    best = other;
            }
            score[t][j] = best + emit[t][j];
        }
}
