#include <math.h>
#include <stddef.h>
#include <string.h>

#define N 24

typedef struct { double m[4][4]; } mat4;
typedef struct { float x, y, z; } vec3;

void daxpy(int n, double alpha, const double *x, int incx, double *y, int incy)
{
    if (n <= 0 || alpha == 0.0)
        return;
    if (incx == 1 && incy == 1) {
        for (int i = 0; i < n; i++)
            y[i] += alpha * x[i];
        return;
    }
    int ix = 0, iy = 0;
    for (int i = 0; i < n; i++) {
        y[iy] += alpha * x[ix];
        ix += incx;
        iy += incy;
    }
}

double ddot(int n, const double *x, const double *y)
{
    double s = 0.0;
    int m = n % 4;
    for (int i = 0; i < m; i++)
        s += x[i] * y[i];
    for (int i = m; i < n; i += 4)
        s += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2] + x[i + 3] * y[i + 3];
    return s;
}

int idamax(int n, const double *x)
{
    if (n < 1)
        return -1;
    int best = 0;
    double largest = fabs(x[0]);
    for (int i = 1; i < n; i++) {
        if (fabs(x[i]) > largest) {
            largest = fabs(x[i]);
            best = i;
        }
    }
    return best;
}

void dgemm_colmajor(int m, int n, int k, double alpha, const double *A, int lda, const double *B,
                    int ldb, double beta, double *C, int ldc)
{
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++)
            C[i + j * ldc] = beta == 0.0 ? 0.0 : beta * C[i + j * ldc];
        for (int l = 0; l < k; l++) {
            double t = alpha * B[l + j * ldb];
            for (int i = 0; i < m; i++)
                C[i + j * ldc] += t * A[i + l * lda];
        }
    }
}

void matmul_rows(float **a, float **b, float **c, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int k = 0; k < n; k++)
                s += a[i][k] * b[k][j];
            c[i][j] = s;
        }
}

int cholesky(double *a, int n)
{
    for (int j = 0; j < n; j++) {
        double s = a[j * n + j];
        for (int k = 0; k < j; k++)
            s -= a[j * n + k] * a[j * n + k];
        if (s <= 0.0)
            return j + 1;
        s = sqrt(s);
        a[j * n + j] = s;
        for (int i = j + 1; i < n; i++) {
            double t = a[i * n + j];
            for (int k = 0; k < j; k++)
                t -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = t / s;
        }
    }
    return 0;
}

void lu_nopivot(double a[N][N])
{
    int i, j, k;
    for (k = 0; k < N; k++)
        for (i = k + 1; i < N; i++) {
            a[i][k] /= a[k][k];
            for (j = k + 1; j < N; j++)
                a[i][j] -= a[i][k] * a[k][j];
        }
}

void gauss_jordan_inverse(double a[N][N], double inv[N][N])
{
    memset(inv, 0, sizeof(double) * N * N);
    for (int i = 0; i < N; i++)
        inv[i][i] = 1.0;
    for (int c = 0; c < N; c++) {
        double p = 1.0 / a[c][c];
        for (int j = 0; j < N; j++) {
            a[c][j] *= p;
            inv[c][j] *= p;
        }
        for (int r = 0; r < N; r++) {
            if (r == c)
                continue;
            double f = a[r][c];
            for (int j = 0; j < N; j++) {
                a[r][j] -= f * a[c][j];
                inv[r][j] -= f * inv[c][j];
            }
        }
    }
}

void trsv_lower(int n, const double *L, double *b)
{
    for (int i = 0; i < n; i++) {
        double s = b[i];
        for (int j = 0; j < i; j++)
            s -= L[i * n + j] * b[j];
        b[i] = s / L[i * n + i];
    }
}

void spmv_csr(int n, const int *ptr, const int *col, const double *val, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int j = ptr[i]; j < ptr[i + 1]; j++)
            s += val[j] * x[col[j]];
        y[i] = s;
    }
}

void spmv_ell(int n, int width, const int *restrict col, const double *restrict val,
              const double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        double s = 0.0;
        for (int j = 0; j < width; j++)
            s += val[i * width + j] * x[col[i * width + j]];
        y[i] = s;
    }
}

void mat4_mul(mat4 *out, const mat4 *a, const mat4 *b)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            double s = 0;
            for (int k = 0; k < 4; k++)
                s += a->m[i][k] * b->m[k][j];
            out->m[i][j] = s;
        }
}

static void cross(vec3 *out, const vec3 *a, const vec3 *b)
{
    out->x = a->y * b->z - a->z * b->y;
    out->y = a->z * b->x - a->x * b->z;
    out->z = a->x * b->y - a->y * b->x;
}

void triangle_normals(const vec3 *p, vec3 *normal, int count)
{
    for (int t = 0; t < count; t++) {
        vec3 u, v;
        u.x = p[3 * t + 1].x - p[3 * t].x;
        u.y = p[3 * t + 1].y - p[3 * t].y;
        u.z = p[3 * t + 1].z - p[3 * t].z;
        v.x = p[3 * t + 2].x - p[3 * t].x;
        v.y = p[3 * t + 2].y - p[3 * t].y;
        v.z = p[3 * t + 2].z - p[3 * t].z;
        cross(&normal[t], &u, &v);
    }
}

void tridiagonal(int n, const double *a, const double *b, const double *c, double *d, double *w)
{
    w[0] = c[0] / b[0];
    d[0] = d[0] / b[0];
    for (int i = 1; i < n; i++) {
        double m = 1.0 / (b[i] - a[i] * w[i - 1]);
        w[i] = c[i] * m;
        d[i] = (d[i] - a[i] * d[i - 1]) * m;
    }
    for (int i = n - 2; i >= 0; i--)
        d[i] -= w[i] * d[i + 1];
}

void givens(int n, double *x, double *y, double c, double s)
{
    while (n-- > 0) {
        double t = c * *x + s * *y;
        *y = c * *y - s * *x;
        *x = t;
        x++;
        y++;
    }
}
