/* The correlation matrix of the columns of a table, which are normalized. */
#include <math.h>

void correlation(int n, int m, double data[restrict n][m], double corr[restrict m][m],
                 double mean[restrict m], double deviation[restrict m])
{
#pragma polysched assume m >= 1
    double count = n;
    for (int j = 0; j < m; j++) {
        mean[j] = 0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= count;
    }
    for (int j = 0; j < m; j++) {
        deviation[j] = 0;
        for (int i = 0; i < n; i++)
            deviation[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        deviation[j] = sqrt(deviation[j] / count);
        deviation[j] = deviation[j] <= 0.1 ? 1.0 : deviation[j];
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt(count) * deviation[j];
        }
    for (int i = 0; i < m - 1; i++) {
        corr[i][i] = 1;
        for (int j = i + 1; j < m; j++) {
            corr[i][j] = 0;
            for (int k = 0; k < n; k++)
                corr[i][j] += data[k][i] * data[k][j];
            corr[j][i] = corr[i][j];
        }
    }
    corr[m - 1][m - 1] = 1;
}
