/* Red-black relaxation: every other point of a grid, then the others. sizes: sweeps=10, n=400 */
void red_black(int sweeps, int n, double u[restrict n][n], const double f[restrict n][n])
{
    for (int t = 0; t < sweeps; t++)
        for (int color = 0; color < 2; color++)
            for (int i = 1; i < n - 1; i++)
                for (int j = 1 + (i + color) % 2; j < n - 1; j += 2)
                    u[i][j] = 0.25 * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]
                                      - f[i][j]);
}
