/* A 3 by 3 blur of bytes in two passes, the middle in 16 bits. sizes: h=480, w=640 */
void blur_bytes(int h, int w, const unsigned char in[restrict h + 2][w + 2],
                unsigned short mid[restrict h + 2][w], unsigned char out[restrict h][w])
{
    for (int y = 0; y < h + 2; y++)
        for (int x = 0; x < w; x++)
            mid[y][x] = in[y][x] + 2 * in[y][x + 1] + in[y][x + 2];
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[y][x] = (mid[y][x] + 2 * mid[y + 1][x] + mid[y + 2][x] + 8) / 16;
}
