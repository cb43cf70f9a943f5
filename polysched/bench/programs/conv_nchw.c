/* A 3 by 3 convolution, channels first. sizes: k=32, c=32, h=54, w=54 */
void conv_nchw(int k, int c, int h, int w, const float x[restrict c][h + 2][w + 2],
               const float f[restrict k][c][3][3], float y[restrict k][h][w])
{
    for (int o = 0; o < k; o++)
        for (int i = 0; i < h; i++)
            for (int j = 0; j < w; j++) {
                y[o][i][j] = 0;
                for (int p = 0; p < c; p++)
                    for (int r = 0; r < 3; r++)
                        for (int s = 0; s < 3; s++)
                            y[o][i][j] += x[p][i + r][j + s] * f[o][p][r][s];
            }
}
