#include <stdio.h>
#include <stdlib.h>
typedef unsigned char *row_t; typedef row_t *image_t;
void halve(image_t in, image_t out, int rows, unsigned cols) {
  int y, from; unsigned x; register row_t p, q, d;
  from = 0;
  for (y = 0; y < rows; y++) {
    d = out[y]; p = in[from]; q = in[from + 1];
    for (x = 0; x < cols; x++) { *d++ = (*p + p[1] + *q + q[1] + 2) >> 2; p += 2; q += 2; }
    from += 2;
  } }
void smooth(double **a, double **b, int h, int w) { for (int y = 1; y < h - 1; y++) for (int x = 1; x < w - 1; x++) b[y][x] = a[y - 1][x] + a[y + 1][x] + a[y][x - 1]; }
void ones(double **a, int h, int w) { for (int y = 1; y <= h; y++) for (int x = 0; x < w; x++) a[y][x] = 1; }
int axpy_(int *n, double *a, double *x, int *incx, double *y, int *incy) { static int i, ix, iy; static double t;
  --x; --y; if (*n <= 0) return 0; ix = 1; iy = 1;
  for (i = 1; i <= *n; ++i) { t = *a * x[ix]; y[iy] += t; ix += *incx; iy += *incy; } return 0; }
void scale(unsigned h, unsigned w, float *x, float by) { unsigned i, j; for (j = 0; j < h; j++) { float *row = x + j * w; for (i = 0; i < w; i++) row[i] *= by; } }
void passes(int *x, int step) { int i, t[64], *v = t, *o; int *d = x;
  for (i = 0; i < 8; ++i, ++d, ++v) { v[0] = d[0] + d[8]; v[8] = d[8]; }
  for (i = 0, v = t, o = x; i < 8; ++i, v += 2, o += step) { o[0] = v[0] + v[1]; o[1] = v[1] - 1; } }
static double **matrix(int n, int m, int step) { double **r = malloc(n * sizeof *r), *d = calloc(n * (m + step) + n, 8); for (int i = 0; i < n; i++) { r[i] = d + i * (m + (i > 2) * step); for (int j = 0; j < m; j++) r[i][j] = i * 3 + j % 5; } return r; }
static void show(double **a, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) printf("%g ", a[i][j]); puts(""); }
int main(void) {
  unsigned char bytes[600]; row_t in[8], out[5]; double v[40], s = 2; float f[60];
  for (int i = 0; i < 600; i++) bytes[i] = i * i;
  for (int i = 0; i < 8; i++) in[i] = bytes + 40 * i;
  for (int i = 0; i < 4; i++) out[i] = bytes + 400 + 20 * i;
  halve(in, out, 4, 20); out[3] += 5; halve(in, out, 4, 17); halve(0, 0, 0, 3); halve(in, in, 4, 9); halve(in, out, 1, 20);
  for (int i = 0; i < 600; i++) printf("%d ", bytes[i]);
  double **a = matrix(7, 9, 0), **b = matrix(7, 9, 0), **c = matrix(7, 9, 1);
  smooth(a, b, 7, 9); smooth(b, c, 7, 9); smooth(c, c, 7, 9); smooth(a, a, 3, 9); smooth(0, 0, 7, 2); smooth(0, 0, 2, 9); smooth(a, b + 1, 5, 9);
  double **low = malloc(4 * sizeof *low); for (int i = 1; i < 4; i++) low[i] = c[i + 2]; low[0] = (double *)1;
  ones(low, 3, 9); ones(c, 1, 4); ones(0, 5, 0);
  { void **t = (void **)(v + 8); for (int i = 0; i < 4; i++) t[i] = v + 20 + 4 * i; ones((double **)t - 1, 4, 2); t[2] = v + 8; ones((double **)t, 1, 1); }
  show(a, 7, 9); show(b, 7, 9); show(c, 7, 9);
  for (int i = 0; i < 40; i++) v[i] = i;
  for (int n = 0; n < 12; n += 5) { int one = 1, two = 2, minus = -1; axpy_(&n, &s, v, &one, v + 20, &two); axpy_(&n, &s, v + 11, &minus, v + 20, &one); axpy_(&n, &s, v, &one, v + 3, &one); }
  for (int i = 0; i < 60; i++) f[i] = i;
  scale(5, 12, f, 2); scale(3, 1, f + 7, 3); scale(0, 9, f, 5);
  { int t[64]; for (int i = 0; i < 64; i++) t[i] = 3 * i; passes(t, 8); passes(t, 1); for (int i = 0; i < 64; i++) printf("%d ", t[i]); }
  for (int i = 0; i < 60; i++) printf("%g ", i < 40 ? v[i] + f[i] : f[i]);
}
