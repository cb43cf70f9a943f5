/* One stage of a Fourier transform, m transforms of 2n points at once. sizes: m=64, n=128 */
void butterflies(int m, int n, float *restrict re, float *restrict im, const float *restrict wr,
                 const float *restrict wi)
{
    for (int b = 0; b < m; b++)
        for (int k = 0; k < n; k++) {
            int p = 2 * n * b + k, q = p + n;
            float tr = wr[k] * re[q] - wi[k] * im[q];
            float ti = wr[k] * im[q] + wi[k] * re[q];
            re[q] = re[p] - tr;
            im[q] = im[p] - ti;
            re[p] += tr;
            im[p] += ti;
        }
}
