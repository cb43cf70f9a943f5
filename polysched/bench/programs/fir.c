/* A filter with 32 taps. sizes: n=40000 */
void fir(int n, const float x[restrict n + 32], const float h[restrict 32], float y[restrict n])
{
    for (int i = 0; i < n; i++) {
        float sum = 0.0f;
        for (int t = 0; t < 32; t++)
            sum += h[t] * x[i + 31 - t];
        y[i] = sum;
    }
}
