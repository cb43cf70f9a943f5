/* Sweeps of Gauss and Seidel over a line. sizes: sweeps=40, n=20000 */
void gauss_seidel_1d(int sweeps, int n, double x[restrict n], const double f[restrict n])
{
    for (int s = 0; s < sweeps; s++)
        for (int i = 1; i < n - 1; i++)
            x[i] = 0.5 * (x[i - 1] + x[i + 1] + f[i]);
}
