/* A contraction of four and three dimensions over two. sizes: a=24, b=28, c=32, d=36, e=40 */
void tensor_contraction(int a, int b, int c, int d, int e, const double X[restrict a][d][b][e],
                        const double Y[restrict e][d][c], double Z[restrict a][b][c])
{
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++)
            for (int k = 0; k < c; k++) {
                Z[i][j][k] = 0;
                for (int l = 0; l < d; l++)
                    for (int m = 0; m < e; m++)
                        Z[i][j][k] += X[i][l][j][m] * Y[m][l][k];
            }
}
