/* Strength of edges, cut off at 255. sizes: h=600, w=800 */
void sobel(int h, int w, const unsigned char *restrict in, unsigned char *restrict out)
{
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int gx = in[(y - 1) * w + x + 1] - in[(y - 1) * w + x - 1] + 2 * in[y * w + x + 1]
                     - 2 * in[y * w + x - 1] + in[(y + 1) * w + x + 1] - in[(y + 1) * w + x - 1];
            int gy = in[(y + 1) * w + x - 1] - in[(y - 1) * w + x - 1] + 2 * in[(y + 1) * w + x]
                     - 2 * in[(y - 1) * w + x] + in[(y + 1) * w + x + 1] - in[(y - 1) * w + x + 1];
            int ax = gx < 0 ? -gx : gx;
            int ay = gy < 0 ? -gy : gy;
            int sum = ax + ay;
            if (sum > 255)
                sum = 255;
            out[y * w + x] = sum;
        }
}
