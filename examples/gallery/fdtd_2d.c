/* Finite differences in the time domain: an electromagnetic field in two dimensions. */
void fdtd_2d(int steps, int nx, int ny, double ex[restrict nx][ny], double ey[restrict nx][ny],
             double hz[restrict nx][ny], const double source[steps])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 0; i < nx; i++) {
            if (i == 0)
                for (int j = 0; j < ny; j++)
                    ey[i][j] = source[t];
            else
                for (int j = 0; j < ny; j++)
                    ey[i][j] = ey[i][j] - 0.5 * (hz[i][j] - hz[i - 1][j]);
        }
        for (int i = 0; i < nx; i++)
            for (int j = 1; j < ny; j++)
                ex[i][j] = ex[i][j] - 0.5 * (hz[i][j] - hz[i][j - 1]);
        for (int i = 0; i < nx - 1; i++)
            for (int j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j]
                           - 0.7 * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}
