/* An image of twice the size, bilinear. sizes: h=300, w=400 */
void upsample(int h, int w, const float in[restrict h + 1][w + 1], float out[restrict 2 * h][2 * w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            out[2 * y][2 * x] = in[y][x];
            out[2 * y][2 * x + 1] = 0.5f * (in[y][x] + in[y][x + 1]);
            out[2 * y + 1][2 * x] = 0.5f * (in[y][x] + in[y + 1][x]);
            out[2 * y + 1][2 * x + 1]
                = 0.25f * (in[y][x] + in[y][x + 1] + in[y + 1][x] + in[y + 1][x + 1]);
        }
}
