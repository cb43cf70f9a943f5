/* Bytes through a table of bytes, as when a histogram is equalized. sizes: h=480, w=640 */
void byte_table(int h, int w, const unsigned char in[restrict h][w],
                const unsigned char table[restrict 256], unsigned char out[restrict h][w])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[y][x] = table[in[y][x]];
}
