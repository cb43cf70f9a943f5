/* The covariance matrix of the columns of a table, whose means are taken off. */
void covariance(int n, int m, double data[restrict n][m], double cov[restrict m][m],
                double mean[restrict m])
{
    double count = n;
    for (int j = 0; j < m; j++) {
        mean[j] = 0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= count;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] -= mean[j];
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            cov[i][j] = 0;
            for (int k = 0; k < n; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= count - 1;
            cov[j][i] = cov[i][j];
        }
}
