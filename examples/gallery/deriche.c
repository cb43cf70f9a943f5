/* A recursive image filter after Deriche: sums of four one-dimensional sweeps. */
void deriche(int w, int h, float a1, float a2, float a3, float a4, float b1, float b2,
             const float image[w][h], float out[restrict w][h], float y[restrict w][h])
{
    float y1, y2, x1, x2, t1, t2;
    for (int i = 0; i < w; i++) {
        y1 = 0;
        y2 = 0;
        x1 = 0;
        for (int j = 0; j < h; j++) {
            y[i][j] = a1 * image[i][j] + a2 * x1 + b1 * y1 + b2 * y2;
            x1 = image[i][j];
            y2 = y1;
            y1 = y[i][j];
        }
    }
    for (int i = 0; i < w; i++) {
        y1 = 0;
        y2 = 0;
        x1 = 0;
        x2 = 0;
        for (int j = h - 1; j >= 0; j--) {
            out[i][j] = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2;
            x2 = x1;
            x1 = image[i][j];
            y2 = y1;
            y1 = out[i][j];
        }
    }
    for (int i = 0; i < w; i++)
        for (int j = 0; j < h; j++)
            out[i][j] = y[i][j] + out[i][j];
    for (int j = 0; j < h; j++) {
        t1 = 0;
        y1 = 0;
        y2 = 0;
        for (int i = 0; i < w; i++) {
            y[i][j] = a1 * out[i][j] + a2 * t1 + b1 * y1 + b2 * y2;
            t1 = out[i][j];
            y2 = y1;
            y1 = y[i][j];
        }
    }
    for (int j = 0; j < h; j++) {
        t1 = 0;
        t2 = 0;
        y1 = 0;
        y2 = 0;
        for (int i = w - 1; i >= 0; i--) {
            x1 = a3 * t1 + a4 * t2 + b1 * y1 + b2 * y2;
            t2 = t1;
            t1 = out[i][j];
            y2 = y1;
            y1 = x1;
            out[i][j] = x1 + y[i][j];
        }
    }
}
