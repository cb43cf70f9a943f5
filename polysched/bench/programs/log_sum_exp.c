/* Logarithms of sums of exponentials by rows. sizes: n=300, m=200 */
#include <math.h>
void log_sum_exp(int n, int m, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float hi = x[i * m];
        for (int j = 1; j < m; j++)
            if (x[i * m + j] > hi) hi = x[i * m + j];
        float s = 0.0f;
        for (int j = 0; j < m; j++)
            s += expf(x[i * m + j] - hi);
        y[i] = hi + logf(s);
    }
}
