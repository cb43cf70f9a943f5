/* A polynomial of degree 12 at many points. sizes: n=30000 */
void horner(int n, const double c[restrict 13], const double x[restrict n], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        double value = c[12];
        for (int k = 11; k >= 0; k--)
            value = value * x[i] + c[k];
        y[i] = value;
    }
}
