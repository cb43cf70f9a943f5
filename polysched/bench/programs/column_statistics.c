/* Mean and variance of each column. sizes: n=1000, m=600 */
void column_statistics(int n, int m, const float x[restrict n][m], float mean[restrict m],
                       float variance[restrict m])
{
    for (int j = 0; j < m; j++) {
        float sum = 0;
        for (int i = 0; i < n; i++)
            sum += x[i][j];
        mean[j] = sum / n;
        float squares = 0;
        for (int i = 0; i < n; i++)
            squares += (x[i][j] - mean[j]) * (x[i][j] - mean[j]);
        variance[j] = squares / n;
    }
}
