/* A product of matrices that are stored in rows, the sum in a temporary. sizes: n=360 */
void matmul_flat(int n, const double *restrict A, const double *restrict B, double *restrict C)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += A[i * n + k] * B[k * n + j];
            C[i * n + j] = sum;
        }
}
