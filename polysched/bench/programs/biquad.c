/* A recursive filter of second order on each channel. sizes: channels=64, n=4000 */
void biquad(int channels, int n, float b0, float b1, const float x[restrict channels][n],
            float y[restrict channels][n])
{
    for (int c = 0; c < channels; c++) {
        float y1 = 0, y2 = 0;
        for (int i = 0; i < n; i++) {
            float now = b0 * x[c][i] + 0.3f * b1 * y1 - 0.2f * y2;
            y2 = y1;
            y1 = now;
            y[c][i] = now;
        }
    }
}
