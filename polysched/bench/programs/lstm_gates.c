/* The pointwise part of an LSTM cell with rational sigmoids. sizes: n=32, h=200 */
#include <math.h>
static float sig(float v) { return 0.5f * v / (1.0f + fabsf(v)) + 0.5f; }
static float squash(float v) { return v / (1.0f + fabsf(v)); }
void lstm_gates(int n, int h, const float z[restrict n][4 * h], float c[restrict n][h],
                float out[restrict n][h])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < h; j++) {
            float f = sig(z[i][j]), g = sig(z[i][h + j]), o = sig(z[i][2 * h + j]);
            float u = squash(z[i][3 * h + j]);
            c[i][j] = f * c[i][j] + g * u;
            out[i][j] = o * squash(c[i][j]);
        }
}
