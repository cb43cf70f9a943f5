/* Products of complex numbers, real and imaginary parts in turn, and their sum. sizes: n=20000 */
void complex_product(int n, const float a[restrict 2 * n], const float b[restrict 2 * n],
                     float c[restrict 2 * n])
{
    for (int i = 0; i < n; i++) {
        c[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
        c[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
    }
}
