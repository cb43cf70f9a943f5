#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void w1(int n, float *x, const float *y) { int i = 0; while (i < n) { x[i] = 2 * y[i]; i++; } }
void w2(int n, float *x) { int i; i = 3; do { x[i] += i; i += 2; } while (i < n); }
void w3(int n, float *x) { int i = n; while (i-- > 0) x[i] *= 0.5f; }
void sw(int n, int mode, float *x) { for (int i = 0; i < n; i++) switch (i % 3) { case 0: x[i] = 1; break; case 1: { x[i] += 2; break; } default: x[i] = -x[i]; } 
  switch (mode) { case 1: case 2: x[0] = 4; break; case 3: x[1] = 5; x[0] = 1; break; } }
void pt(unsigned n, float *x, const float *y) { for (unsigned i = 0; i < n; i++) *(x + i) = *(y + i) + *(y + n - 1 - i); }
void zz(size_t n, double *x) { for (size_t i = 0; i + 1 < n; ++i) if (__builtin_expect(x[i] > 0.5, 0)) x[i] = x[i + 1]; }
static float clampf(float v, float lo, float hi) { if (v < lo) return lo; if (v > hi) return hi; return v; }
static inline int lerp(int a, int b, int t) { int d = b - a; int s = d * t; s += 128; return a + (s >> 8); }
void cl(int n, float *x) { for (int i = 0; i < n; i++) x[i] = clampf(x[i] * 3, -1.f, 1.5f); }
void le(int n, const unsigned char *a, const unsigned char *b, unsigned char *c, int t) { for (int i = 0; i < n; i++) c[i] = lerp(a[i], b[i], t); }
void mset(int n, float *x, const float *y) { memset(x, 0, n * sizeof(float)); memcpy(x + 2, y, (n - 2) * sizeof *x); }
int main(void) {
  enum { N = 37 }; float x[N], y[N]; double d[N]; unsigned char a[N], b[N], c[N];
  for (int i = 0; i < N; i++) { x[i] = i * 0.25f - 3; y[i] = i % 7 - 2; d[i] = (i * 7 % 11) / 11.0; a[i] = i * 5; b[i] = 200 - i; }
  w1(N, x, y); w2(N, x); w3(N, x); sw(N, 2, x); sw(N, 3, y); pt(N, x, y); zz(N, d); cl(N, x); le(N, a, b, c, 77); 
  w1(20, y + 3, y); w1(20, y, y + 3); w2(1, x); mset(N, x, y); pt(30, x, x + 2);
  for (int i = 0; i < N; i++) printf("%a %a %a %d\n", x[i], y[i], d[i], c[i]);
 { int p[5] = {1,9,-7,4,5}, q[5] = {0,2,3,0,-1}; extern void dv(int,int*,const int*); dv(5,p,q); for (int i = 0; i < 5; i++) printf("%d ", p[i]); }
}
static int sdiv(int a, int b) { if (b == 0) return 0; return a / b; }
void dv(int n, int *x, const int *y) { for (int i = 0; i < n; i++) x[i] = sdiv(x[i], y[i]); }
