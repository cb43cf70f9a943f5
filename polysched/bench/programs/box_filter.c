/* A 3 by 3 box filter with loops over the taps. sizes: h=480, w=636 */
void box_filter(int h, int w, const unsigned char in[restrict h + 2][w + 2],
                unsigned char out[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            int sum = 0;
            for (int r = 0; r < 3; r++)
                for (int s = 0; s < 3; s++)
                    sum += in[y + r][x + s];
            out[y][x] = sum / 9;
        }
}
