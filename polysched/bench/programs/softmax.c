/* Softmax of each row. sizes: n=200, m=500 */
#include <math.h>

void softmax(int n, int m, const float x[restrict n][m], float y[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        float most = x[i][0];
        for (int j = 1; j < m; j++)
            if (x[i][j] > most)
                most = x[i][j];
        float sum = 0;
        for (int j = 0; j < m; j++) {
            y[i][j] = expf(x[i][j] - most);
            sum += y[i][j];
        }
        for (int j = 0; j < m; j++)
            y[i][j] /= sum;
    }
}
