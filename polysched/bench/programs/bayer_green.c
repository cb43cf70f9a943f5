/* Green at the red and blue places of a Bayer pattern. sizes: h=240, w=318 */
void bayer_green(int h, int w, const unsigned short in[restrict 2 * h + 2][2 * w + 4],
                 unsigned short out[restrict 2 * h][2 * w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            out[2 * y][2 * x] = in[2 * y + 1][2 * x + 1];
            out[2 * y + 1][2 * x + 1] = in[2 * y + 2][2 * x + 2];
            out[2 * y][2 * x + 1] = (in[2 * y][2 * x + 2] + in[2 * y + 2][2 * x + 2]
                                     + in[2 * y + 1][2 * x + 1] + in[2 * y + 1][2 * x + 3]) / 4;
            out[2 * y + 1][2 * x] = (in[2 * y + 1][2 * x + 1] + in[2 * y + 3][2 * x + 1]
                                     + in[2 * y + 2][2 * x] + in[2 * y + 2][2 * x + 2]) / 4;
        }
}
