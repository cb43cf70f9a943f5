/* 2 by 2 pooling of planes by maxima, written with ifs. sizes: c=32, h=56, w=56 */
void max_pool(int c, int h, int w, const float x[restrict c][2 * h][2 * w],
              float y[restrict c][h][w])
{
    for (int p = 0; p < c; p++)
        for (int i = 0; i < h; i++)
            for (int j = 0; j < w; j++) {
                float m = x[p][2 * i][2 * j];
                for (int r = 0; r < 2; r++)
                    for (int s = 0; s < 2; s++)
                        if (x[p][2 * i + r][2 * j + s] > m)
                            m = x[p][2 * i + r][2 * j + s];
                y[p][i][j] = m;
            }
}
