#include <stdio.h>
void copy(int h, int w, float *d, const float *s) { for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) *d++ = 2 * *s++; }
double dot(int n, const double *a, const double *b) { double s = 0; for (int i = 0; i < n; i++) s += *a++ * *b++; return s; }
void stride(int n, int stride, float *p, const float *q) { for (int i = 0; i < n; i++, q += 3) { *p = q[0] + q[2]; p += 2; } }
void local(int n, float *x) { float *p = x + 1; int i; for (i = 0; i < n - 1; i++) { *p += 1; ++p; } }
void rgb(int w, int h, const unsigned char *in, unsigned char *out) { for (int y = 0; y < h; y++) { for (int x = 0; x < w; x++) { *out++ = (in[0] + in[1] + in[2]) / 3; in += 3; } } }
void skip(int h, int w, int s, float *d) { for (int y = 0; y < h; y++) { for (int x = 0; x < w; x++) *d++ = x; d += s; } }
void after(int n, float *d) { for (int i = 0; i < n; i++) *d++ = i; *d = 7; }
void run(int n, float *x) { int i = 0; while (i < n) { *x++ *= 3; i++; } }
int main(void) { float a[60], b[60]; double c[60]; unsigned char u[180], v[60];
 for (int i = 0; i < 60; i++) { a[i] = i; b[i] = i * 0.5f; c[i] = i / 3.0; v[i] = 0; } for (int i = 0; i < 180; i++) u[i] = i * 7;
 copy(5, 7, a, b); copy(4, 5, a + 3, a); copy(3, -2, a, b); printf("%a\n", dot(33, c, c + 5)); stride(9, 2, a + 20, b); local(30, a); rgb(8, 7, u, v); skip(4, 6, 3, b); skip(2, -1, 3, b + 10); after(5, a); after(-1, b + 3); run(20, a + 1); { extern unsigned adler(const unsigned char*,int); extern void threshold(const unsigned char*,unsigned char*,unsigned,unsigned char); threshold(u, v + 3, 40, 99); printf("%u %u %u\n", adler(u, 180), adler(u, 0), adler(v, -4)); } { extern void rows(int,int,float*); rows(3, 9, b); }
 for (int i = 0; i < 60; i++) printf("%a %a %d\n", a[i], b[i], v[i]); }
void rows(int h, int w, float *A) { for (int y = 0; y < h; y++) { float *p = A + y * w; for (int x = 0; x < w; x++) *p++ += y; } }
int extra(void) { return 3; }
unsigned adler(const unsigned char *p, int n) { unsigned a = 1, b = 0; while (n-- > 0) { a = (a + *p++) % 65521; b = (b + a) % 65521; } return (b << 16) | a; }
void threshold(const unsigned char *s, unsigned char *d, unsigned n, unsigned char t) { while (n--) *d++ = *s++ > t ? 255 : 0; }
