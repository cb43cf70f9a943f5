/* Normalize each channel over images and pixels. sizes: n=8, c=32, hw=196 */
#include <math.h>
void batch_norm(int n, int c, int hw, const float x[restrict n][c][hw], const float g[restrict c],
                const float b[restrict c], float y[restrict n][c][hw])
{
    for (int k = 0; k < c; k++) {
        float mean = 0, var = 0;
        for (int i = 0; i < n; i++)
            for (int p = 0; p < hw; p++)
                mean += x[i][k][p];
        mean /= (float)(n * hw);
        for (int i = 0; i < n; i++)
            for (int p = 0; p < hw; p++)
                var += (x[i][k][p] - mean) * (x[i][k][p] - mean);
        var /= (float)(n * hw);
        float s = g[k] / sqrtf(var + 1e-5f);
        for (int i = 0; i < n; i++)
            for (int p = 0; p < hw; p++)
                y[i][k][p] = (x[i][k][p] - mean) * s + b[k];
    }
}
