/* An upper triangular system, the sum in a temporary. sizes: n=2000 */
void back_substitution(int n, const double U[restrict n][n], const double b[restrict n],
                       double x[restrict n])
{
    for (int i = n - 1; i >= 0; i--) {
        double sum = b[i];
        for (int j = i + 1; j < n; j++)
            sum -= U[i][j] * x[j];
        x[i] = sum / (U[i][i] + n);
    }
}
