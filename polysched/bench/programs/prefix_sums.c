/* An integral image. sizes: h=600, w=800 */
void prefix_sums(int h, int w, const unsigned char in[restrict h][w],
                 int sum[restrict h + 1][w + 1])
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            sum[y + 1][x + 1] = in[y][x] + sum[y][x + 1] + sum[y + 1][x] - sum[y][x];
}
