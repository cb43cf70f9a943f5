#include "calls.h"

int main(void)
{
    enum { S = 19 };
    static double x[3 * S], y[3 * S], A[S * S], B[S * S], C[S * S], m[N][N], inv[N][N], w[S], d[S];
    static float rows[3][S * S], *ra[S], *rb[S], *rc[S];
    static vec3 p[30], normal[10];
    mat4 a4, b4, c4;
    int ptr[S + 1], col[S * S];
    FILL(x, -2, 2); FILL(y, -2, 2); FILL(A, -2, 2); FILL(B, -2, 2); FILL(C, -2, 2); FILL2(m, 1, 2);
    daxpy(S, 1.5, x, 1, y, 1), daxpy(S, 0.5, x, 2, y, 3), SHOW("daxpy", y);
    for (int n = 0; n < 8; n++)
        printf("%a %d\n", ddot(n, x, y), idamax(n, x));
    dgemm_colmajor(S - 1, S - 2, S - 3, 1.5, A, S, B, S, 0.5, C, S), SHOW("dgemm", C);
    dgemm_colmajor(S - 1, S - 2, S - 3, 1.5, A, S, B, S, 0.0, A, S), SHOW("dgemm in place", A);
    FILL2(rows, -2, 2);
    for (int i = 0; i < S; i++)
        ra[i] = rows[0] + i * S, rb[i] = rows[1] + i * S, rc[i] = rows[2] + i * S;
    matmul_rows(ra, rb, rc, S), SHOW("matmul_rows", rows);
    for (int i = 0; i < S; i++)
        for (int j = 0; j < S; j++)
            B[i * S + j] = i == j ? S : 0.1 * B[i * S + j];
    printf("%d\n", cholesky(B, S)), SHOW("cholesky", B);
    for (int i = 0; i < N; i++)
        m[i][i] += 30;
    lu_nopivot(m), SHOW("lu_nopivot", m);
    gauss_jordan_inverse(m, inv), SHOW("gauss_jordan_inverse", inv);
    trsv_lower(S, B, x), SHOW("trsv_lower", x);
    for (int i = 0; i <= S; i++)
        ptr[i] = 5 * i;
    FILL(col, 0, S);
    spmv_csr(S, ptr, col, A, x, y), SHOW("spmv_csr", y);
    spmv_ell(S, 5, col, A, x, y), SHOW("spmv_ell", y);
    FILL2(a4.m, -1, 1); FILL2(b4.m, -1, 1);
    mat4_mul(&c4, &a4, &b4), SHOW("mat4_mul", c4);
    mat4_mul(&a4, &a4, &b4), SHOW("mat4_mul in place", a4);
    for (int i = 0; i < 30; i++)
        p[i].x = uniform(), p[i].y = uniform(), p[i].z = uniform();
    triangle_normals(p, normal, 10), SHOW("triangle_normals", normal);
    triangle_normals(p, p, 10), SHOW("triangle_normals in place", p);
    tridiagonal(S, A, m[0], A + S, d, w), SHOW("tridiagonal", d), SHOW("its factors", w);
    givens(S, x, y, 0.6, 0.8), SHOW("givens", x), SHOW("givens", y);
    return 0;
}
