/* L*x = b by forward substitution. */
void trisolv(int n, const double L[n][n], double x[restrict n], const double b[n])
{
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int j = 0; j < i; j++)
            x[i] -= L[i][j] * x[j];
        x[i] = x[i] / L[i][i];
    }
}
