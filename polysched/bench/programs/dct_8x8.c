/* 8 by 8 blocks of an image to frequencies: c * block * c transposed. sizes: h=32, w=40 */
void dct_8x8(int h, int w, const float c[restrict 8][8], const float img[restrict 8 * h][8 * w],
             float out[restrict 8 * h][8 * w])
{
    for (int by = 0; by < h; by++)
        for (int bx = 0; bx < w; bx++) {
            float t[8][8];
            for (int u = 0; u < 8; u++)
                for (int x = 0; x < 8; x++) {
                    float s = 0.0f;
                    for (int y = 0; y < 8; y++)
                        s += c[u][y] * img[8 * by + y][8 * bx + x];
                    t[u][x] = s;
                }
            for (int u = 0; u < 8; u++)
                for (int v = 0; v < 8; v++) {
                    float s = 0.0f;
                    for (int x = 0; x < 8; x++)
                        s += t[u][x] * c[v][x];
                    out[8 * by + u][8 * bx + v] = s;
                }
        }
}
