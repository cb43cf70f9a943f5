/* The cosine of the angle between rows, three sums in one loop. sizes: n=1000, m=256 */
#include <math.h>

void cosine_similarity(int n, int m, const float a[restrict n][m], const float b[restrict n][m],
                       float y[restrict n])
{
    for (int i = 0; i < n; i++) {
        float ab = 0, aa = 0, bb = 0;
        for (int j = 0; j < m; j++) {
            ab += a[i][j] * b[i][j];
            aa += a[i][j] * a[i][j];
            bb += b[i][j] * b[i][j];
        }
        y[i] = ab / sqrtf(aa * bb + 1e-6f);
    }
}
