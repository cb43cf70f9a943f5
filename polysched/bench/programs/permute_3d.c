/* A permutation of the axes of a tensor. sizes: a=60, b=100, c=120 */
void permute_3d(int a, int b, int c, const float x[restrict a][b][c], float y[restrict c][a][b])
{
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
            for (int k = 0; k < c; k++)
                y[k][i][j] = x[i][j][k];
}
