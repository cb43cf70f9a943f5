#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 8
#define TAPS 16
#define PI 3.14159265358979323846

typedef struct {
    float b0, b1, b2, a1, a2;
    float z1, z2;
} biquad;

typedef struct {
    float taps[TAPS];
    float history[TAPS];
    int length;
} fir_state;

typedef struct { float re, im; } cfloat;

static const uint8_t zigzag[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

void fir(const float *x, float *y, int n, const float *h, int taps)
{
    for (int i = 0; i < n; i++) {
        float acc = 0.0f;
        for (int k = 0; k < taps; k++)
            if (i - k >= 0)
                acc += h[k] * x[i - k];
        y[i] = acc;
    }
}

void biquad_process(biquad *f, const float *in, float *out, int n)
{
    for (int i = 0; i < n; i++) {
        float x = in[i];
        float y = f->b0 * x + f->z1;
        f->z1 = f->b1 * x - f->a1 * y + f->z2;
        f->z2 = f->b2 * x - f->a2 * y;
        out[i] = y;
    }
}

float fir_push(fir_state *s, float sample)
{
    for (int i = TAPS - 1; i > 0; i--)
        s->history[i] = s->history[i - 1];
    s->history[0] = sample;
    float acc = 0;
    for (int i = 0; i < TAPS; i++)
        acc += s->history[i] * s->taps[i];
    return acc;
}

void dct8x8(const int16_t in[64], float out[64])
{
    for (int u = 0; u < BLOCK; u++)
        for (int v = 0; v < BLOCK; v++) {
            float cu = u == 0 ? 0.70710678f : 1.0f, cv = v == 0 ? 0.70710678f : 1.0f;
            float s = 0;
            for (int x = 0; x < BLOCK; x++)
                for (int y = 0; y < BLOCK; y++)
                    s += in[x * BLOCK + y] * cosf((2 * x + 1) * u * (float)PI / 16) *
                         cosf((2 * y + 1) * v * (float)PI / 16);
            out[u * BLOCK + v] = 0.25f * cu * cv * s;
        }
}

void quantize_zigzag(const int16_t *block, const uint16_t *q, int16_t *out)
{
    for (int i = 0; i < 64; i++) {
        int v = block[zigzag[i]];
        int d = q[zigzag[i]];
        out[i] = v >= 0 ? (v + d / 2) / d : -((-v + d / 2) / d);
    }
}

void complex_multiply(const cfloat *a, const cfloat *b, cfloat *out, int n)
{
    for (int i = 0; i < n; i++) {
        cfloat r;
        r.re = a[i].re * b[i].re - a[i].im * b[i].im;
        r.im = a[i].re * b[i].im + a[i].im * b[i].re;
        out[i] = r;
    }
}

void dft(const double *re, const double *im, double *ore, double *oim, int n)
{
    for (int k = 0; k < n; k++) {
        double sr = 0, si = 0;
        for (int t = 0; t < n; t++) {
            double angle = -2 * PI * t * k / n;
            sr += re[t] * cos(angle) - im[t] * sin(angle);
            si += re[t] * sin(angle) + im[t] * cos(angle);
        }
        ore[k] = sr;
        oim[k] = si;
    }
}

void mix_stereo(int16_t *out, const int16_t *left, const int16_t *right, int frames, int gain)
{
    while (frames--) {
        int l = (*left++ * gain) >> 8;
        int r = (*right++ * gain) >> 8;
        if (l > 32767) l = 32767;
        else if (l < -32768) l = -32768;
        if (r > 32767) r = 32767;
        else if (r < -32768) r = -32768;
        *out++ = l;
        *out++ = r;
    }
}

int16_t peak(const int16_t *pcm, size_t n)
{
    int16_t best = 0;
    for (size_t i = 0; i < n; i++) {
        int16_t v = pcm[i] < 0 ? -pcm[i] : pcm[i];
        if (v > best)
            best = v;
    }
    return best;
}

int zero_crossings(const float *x, int n)
{
    int count = 0;
    for (int i = 1; i < n; i++)
        if ((x[i - 1] < 0 && x[i] >= 0) || (x[i - 1] >= 0 && x[i] < 0))
            ++count;
    return count;
}

void delay_line(float *buffer, int size, const float *in, float *out, int n, float feedback)
{
    int pos = 0;
    for (int i = 0; i < n; i++) {
        float d = buffer[pos];
        out[i] = in[i] + d;
        buffer[pos] = in[i] + d * feedback;
        pos++;
        if (pos == size)
            pos = 0;
    }
}

void haar_step(float *x, float *tmp, int n)
{
    int half = n / 2;
    for (int i = 0; i < half; i++) {
        tmp[i] = (x[2 * i] + x[2 * i + 1]) * 0.5f;
        tmp[half + i] = (x[2 * i] - x[2 * i + 1]) * 0.5f;
    }
    memcpy(x, tmp, sizeof(float) * (2 * half));
}

void median3(const int *in, int *out, int n)
{
    for (int i = 1; i < n - 1; i++) {
        int a = in[i - 1], b = in[i], c = in[i + 1], t;
        if (a > b) { t = a; a = b; b = t; }
        if (b > c) { t = b; b = c; c = t; }
        if (a > b) { t = a; a = b; b = t; }
        out[i] = b;
    }
}

void ulaw_decode(const uint8_t *in, int16_t *out, int n)
{
    for (int i = 0; i < n; i++) {
        uint8_t u = ~in[i];
        int t = ((u & 0x0f) << 3) + 0x84;
        t <<= (u & 0x70) >> 4;
        out[i] = (u & 0x80) ? 0x84 - t : t - 0x84;
    }
}

void softmax(float *x, int n)
{
    float m = x[0], sum = 0;
    for (int i = 1; i < n; i++)
        m = x[i] > m ? x[i] : m;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - m);
        sum += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}
