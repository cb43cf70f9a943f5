/* Bytes times bytes in 32 bits, both operands with the sum's index last. sizes: n=256, m=256, p=512 */
void matmul_transposed(int n, int m, int p, const signed char A[restrict n][p],
                       const signed char B[restrict m][p], int C[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            int sum = 0;
            for (int k = 0; k < p; k++)
                sum += A[i][k] * B[j][k];
            C[i][j] = sum;
        }
}
