/* Gray levels of an image of bytes, by integers. sizes: h=480, w=640 */
void gray(int h, int w, const unsigned char rgb[restrict h][w][3], unsigned char out[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[y][x] = (77 * rgb[y][x][0] + 150 * rgb[y][x][1] + 29 * rgb[y][x][2]) >> 8;
}
