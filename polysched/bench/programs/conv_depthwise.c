/* A depthwise 3 by 3 convolution, channels last. sizes: h=56, w=56, c=96 */
void conv_depthwise(int h, int w, int c, const float x[restrict h + 2][w + 2][c],
                    const float f[restrict 3][3][c], float y[restrict h][w][c])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            for (int p = 0; p < c; p++) {
                float sum = 0;
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        sum += x[i + r][j + s][p] * f[r][s][p];
                y[i][j][p] = sum;
            }
}
