#include <stdio.h>
typedef unsigned char uchar;
void hist(const uchar *img, int n, int *h) { for (int i = 0; i < 256; i++) h[i] = 0; for (int i = 0; i < n; i++) h[img[i]]++; }
void hist2(const uchar *img, int n, int h[256]) { for (int i = 0; i < n; i++) h[img[i]] += 2; }
static float lut[256];
void applylut(const uchar *s, float *d, int n) { for (int i = 0; i < n; i++) d[i] = lut[s[i]]; }
void small(const signed char *s, int d[300], int n) { for (int i = 0; i < n; i++) d[s[i] + 128] = i; }
void outside(const signed char *s, int d[300], int n) { for (int i = 0; i < n; i++) d[s[i]] = i; }
void self(uchar *img, int n, uchar *h) { for (int i = 0; i < 256; i++) h[i] = 0; for (int i = 0; i < n; i++) h[img[i]]++; }
int main(void) { static uchar u[600]; int h[300]; float d[300]; for (int i = 0; i < 600; i++) u[i] = i * 37 % 251; for (int i = 0; i < 256; i++) lut[i] = i * 0.5f; for (int i = 0; i < 300; i++) { h[i] = 1; d[i] = 0; }
 hist(u, 300, h); hist2(u, 250, h); applylut(u, d, 300); applylut((uchar *)h, d, 20); small((signed char *)u, h, 7); hist((uchar *)h, 40, h); self(u, 300, u + 100); self(u, 200, u + 300); 
 for (int i = 0; i < 300; i++) printf("%d %a %d\n", h[i], d[i], u[i]); }
