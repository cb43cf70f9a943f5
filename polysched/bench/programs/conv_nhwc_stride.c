/* A 3 by 3 convolution with stride 2, bias and ReLU, channels last. sizes: h=28, w=28, c=32, k=64 */
void conv_nhwc_stride(int h, int w, int c, int k, const float x[restrict 2 * h + 1][2 * w + 1][c],
                      const float f[restrict 3][3][c][k], const float bias[restrict k],
                      float y[restrict h][w][k])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            for (int o = 0; o < k; o++) {
                float sum = bias[o];
                for (int r = 0; r < 3; r++)
                    for (int s = 0; s < 3; s++)
                        for (int p = 0; p < c; p++)
                            sum += x[2 * i + r][2 * j + s][p] * f[r][s][p][o];
                y[i][j][o] = sum > 0 ? sum : 0;
            }
}
