/* Floats to bytes by a scale for each row, cut off at both ends. sizes: n=300, m=1000 */
void quantize(int n, int m, const float x[restrict n][m], const float scale[restrict n],
              signed char q[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float v = x[i][j] * scale[i];
            v = v > 127.0f ? 127.0f : v;
            v = v < -128.0f ? -128.0f : v;
            q[i][j] = (signed char)v;
        }
}
