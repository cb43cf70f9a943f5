/* Steps of the wave equation, three time levels kept. sizes: steps=20, n=600 */
void wave_2d(int steps, int n, float c, float u[restrict steps + 2][n][n])
{
    for (int t = 1; t <= steps; t++)
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++) {
                float laplace = u[t][i - 1][j] + u[t][i + 1][j] + u[t][i][j - 1] + u[t][i][j + 1]
                                - 4.0f * u[t][i][j];
                u[t + 1][i][j] = 2.0f * u[t][i][j] - u[t - 1][i][j] + c * laplace;
            }
}
