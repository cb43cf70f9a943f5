/* Cholesky row by row (Banachiewicz), out of place. sizes: n=180 */
#include <math.h>
void cholesky_rows(int n, const float *restrict a, float *restrict l)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < i; j++) {
            float s = a[i * n + j];
            for (int k = 0; k < j; k++)
                s -= l[i * n + k] * l[j * n + k];
            l[i * n + j] = s / l[j * n + j];
        }
        float d = a[i * n + i] + 1000.0f;
        for (int k = 0; k < i; k++)
            d -= l[i * n + k] * l[i * n + k];
        l[i * n + i] = sqrtf(d);
    }
}
