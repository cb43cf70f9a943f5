/* Layer normalization of each row. sizes: n=400, m=768 */
#include <math.h>

void layer_norm(int n, int m, const float x[restrict n][m], const float gain[restrict m],
                const float bias[restrict m], float y[restrict n][m])
{
    for (int i = 0; i < n; i++) {
        float sum = 0, squares = 0;
        for (int j = 0; j < m; j++) {
            sum += x[i][j];
            squares += x[i][j] * x[i][j];
        }
        float mean = sum / m;
        float scale = 1.0f / sqrtf(squares / m - mean * mean + 1e-3f);
        for (int j = 0; j < m; j++)
            y[i][j] = (x[i][j] - mean) * scale * gain[j] + bias[j];
    }
}
