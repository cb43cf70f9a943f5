/* Products of small matrices. sizes: n=4000 */
void batched_8x8(int n, const float A[restrict n][8][8], const float B[restrict n][8][8],
                 float C[restrict n][8][8])
{
    for (int b = 0; b < n; b++)
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 8; j++) {
                float sum = 0;
                for (int k = 0; k < 8; k++)
                    sum += A[b][i][k] * B[b][k][j];
                C[b][i][j] = sum;
            }
}
