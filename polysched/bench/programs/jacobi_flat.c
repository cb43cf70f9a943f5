/* One sweep of a 5-point stencil over a grid that is stored in a row. sizes: n=1500 */
void jacobi_flat(int n, const double *restrict a, double *restrict b)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            b[i * n + j] = 0.2 * (a[i * n + j] + a[i * n + j - 1] + a[i * n + j + 1]
                                  + a[(i - 1) * n + j] + a[(i + 1) * n + j]);
}
