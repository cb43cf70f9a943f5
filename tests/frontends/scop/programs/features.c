/* One function for each thing that C can say and a kernel can do; see test_differential.py. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef float real;
enum { FEW = 3, MORE };
static const int WIDTH = 5;

void while_counting_down(int n, double x[restrict n + 1])
{
    int i;
    for (i = n - 1; i >= 0; i--)
        x[i] += x[i + 1] * 0.5;
    for (i = n; i > 0; i -= 2)
        x[i] = x[i] - x[i - 1];
}

void steps_of_three(int n, int m, float x[restrict n], const float y[n])
{
    for (int i = 1; i <= n - 2; i += 3)
        x[i] = y[i] * 3 + i;
    for (int i = m; i < n && i >= 0; i = i + 1)
        x[i] -= 1.5;
    for (int i = 0; 2 * i < n; ++i)
        x[2 * i] *= y[i];
}

void triangles(int n, double A[restrict n][n], double b[n])
{
    for (int i = 0; i < n; i++) {
        double t = b[i];
        for (int j = 0; j < i; j++)
            t -= A[i][j] * A[j][i];
        for (int j = i; n > j; ++j)
            A[i][j] = t / (1 + j);
    }
}

void conditions(int n, int k, float x[restrict n], const float y[n])
{
    for (int i = 0; i < n; i++) {
        if (i < k && i != 3 || i == n - 1)
            x[i] = y[i];
        else if (!(i % 2))
            x[i] = -y[i];
        else {
            if (i / 3 == 1)
                x[i] += 2.0f;
        }
    }
}

void guarded_reads(int n, double out[restrict n], const double x[n])
{
    for (int i = 0; i < n; i++)
        out[i] = (i > 0 ? x[i - 1] : 0.0) + x[i] + (i + 1 < n ? x[i + 1] : -1);
    for (int i = 0; i < n; i++)
        out[i] += i > 1 && x[i - 2] > 0 ? 1 : 2;
}

void selections(int n, float x[restrict n], const float y[n], const int z[n], int w[restrict n])
{
    for (int i = 0; i < n; i++) {
        x[i] = y[i] > 0.25 ? y[i] : y[i] * y[i];
        w[i] = z[i] < 0 ? -z[i] : z[i] > 3 && y[i] < 1 ? 3 : z[i];
        w[i] += (y[i] > 0) * 2 + !z[i];
        w[i] = z[i] > w[i] ? z[i] : w[i];
    }
}

void integers(int n, int a[restrict n], const int b[n], short s[restrict n], unsigned char u[restrict n])
{
    for (int i = 0; i < n; i++) {
        a[i] = b[i] / 3 + b[i] % 3 - (b[i] - 40) / -7 + (b[i] + i * 5) % n;
        s[i] = s[i] * 300 + b[i];
        u[i] += b[i] << 3;
    }
}

void wide(int n, int64_t a[restrict n], uint32_t u[restrict n], const int b[n], uint64_t q[restrict n])
{
    for (int i = 0; i < n; i++) {
        a[i] = (int64_t)b[i] * 1000000007 + b[i] / 2;
        u[i] = u[i] * 2654435761u + b[i];
        q[i] = q[i] / 7 + u[i] % 10u - (b[i] > u[i]);
        a[i] -= u[i] >> 3;
    }
}

void mixed_types(int n, float x[restrict n], double y[restrict n], const int k[n], real scale, double bias)
{
    for (int i = 0; i < n; i++) {
        x[i] = x[i] * scale + bias;
        y[i] = x[i] * 0.1f + k[i] / 2 + k[i] / 2.0;
        y[i] *= (float)y[i];
        x[i] = (int)(y[i] * 3) + 'a' + 0x10 + 010 + 1e-3;
    }
}

void mathematics(int n, double x[restrict n], float y[restrict n], const double a[n])
{
    for (int i = 0; i < n; i++) {
        x[i] = sqrt(fabs(a[i])) + pow(fabs(a[i]), 1.5) - fmin(a[i], x[i]) * fmax(a[i], 0.25);
        x[i] += log(2 + fabs(a[i])) + sin(a[i]) * cos(a[i]) + atan2(a[i], x[i]) + floor(a[i] * 8);
        y[i] = sqrtf(fabsf(y[i])) + tanhf(y[i]) * fmaxf(y[i], 0.5f) + ceilf(3 * y[i]);
        y[i] += abs((int)(x[i] * 10)) + fmod(x[i], 0.75) + cbrt(x[i]);
    }
}

double dot(int n, const double *restrict x, const double *restrict y)
{
#pragma polysched shape x[n]
#pragma polysched shape y[n]
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

void scalars_by_pointer(int n, const float x[n], float *restrict sum, double *restrict last)
{
    *sum = 0;
    for (int i = 0; i < n; i++) {
        *sum += x[i];
        last[0] = *sum;
    }
}

void linearized(int n, int m, double *restrict A, const double *restrict B, const float *restrict v)
{
#pragma polysched shape A[n][m]
#pragma polysched shape B[m][n]
#pragma polysched shape v[n][8]
#pragma polysched assume n >= 1
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i * m + j] += B[j * (size_t)n + i] * v[8 * i + 3];
    for (int j = 0; j < m; j++)
        A[(n - 1) * m + j] = A[j];
}

void local_arrays(int n, double out[restrict n][n])
{
    double row[n], t;
    int half = n / 2;
    for (int i = 0; i < n; i++) {
        const int next = i + 1;
        for (int j = 0; j < n; j++)
            row[j] = out[i][j] * next;
        for (int j = 0; j < n; j++) {
            t = row[n - 1 - j];
            out[i][j] = t + half;
        }
    }
}

void shadows(int n, double x[restrict n])
{
    for (int i = 0; i < n; i++) {
        { double t = x[i]; x[i] = t * t; }
        { float t = x[i]; x[i] -= t; }
    }
    double t = 2;
    for (int i = 0; i < n; i++) {
        x[i] = x[i] * t;
        t = t + 1;
    }
}

void chains(int n, float x[restrict n], double y[restrict n], int c[restrict 2])
{
    c[0] = c[1] = 0;
    for (int i = 0; i < n; i++) {
        y[i] = x[i] = y[i] * 1.1;
        c[0]++;
        --c[1];
    }
}

void sizes_of_every_type(size_t n, unsigned m, short k, signed char b, double A[restrict n][m], double x[restrict n])
{
#pragma polysched assume m < 1000
    for (size_t i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++)
            A[i][j] = i * j + k + b;
    for (size_t i = n; i > 0; i--)
        x[i - 1] += n - i;
    for (int i = 0; i < k; i++)
        if (i < n)
            x[0] += i;
}

void extrema(int n, int m, double A[restrict n][m], int best[restrict 2])
{
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define floord(n, d) (((n) < 0) ? -((-(n) + (d) - 1) / (d)) : (n) / (d))
    for (int t = 0; t <= floord(n + m, 4); t++)
        for (int i = MAX(0, 4 * t - m); i < MIN(n, 4 * t + 1); i++)
            for (int j = MAX(0, floord(i - 7, 3)); j < MIN(m, i + 2); j++) {
                A[i][j] += t;
                best[0] = MAX(best[0], i * j);
                best[1] = MIN(best[1], i - j);
            }
}

void constants(double x[restrict 4 * 5], bool flags[restrict FEW + MORE])
{
    for (int i = 0; i < FEW + MORE; i++)
        flags[i] = i % 2 == 0 && !flags[i];
    for (int i = 0; i < 4 * WIDTH; i++)
        x[i] = flags[i % (FEW + MORE)] ? i : M_PI * i;
}

void dead_code(int n, double x[restrict n])
{
    if (0)
        x[0] = 1;
    for (int i = 0; i < n; i++) {
        if (i < 0)
            x[i] = 2;
        for (int j = 0; j < 3; j++)
            ;
        x[i] += 1;
    }
}

void labels(int n, double x[restrict n], double unused, int *nothing)
{
first:
    for (int i = 0; i < n; i++) {
    update: x[i] = 2 * x[i];
    }
}

void wavefront(int n, int m, float A[restrict n][m])
{
    for (int i = 1; i < n; i++)
        for (int j = m - 2; j >= 1; j -= 1)
            A[i][j] = (A[i - 1][j - 1] + A[i - 1][j + 1] + A[i][j + 1]) * 0.333f;
}

double result_by_its_name(int n, const double x[restrict n])
{
    double result = 0.5;
    for (int i = 0; i < n; i++)
        result += x[i];
    return result;
}

void narrow_constants(int n, int b, double x[restrict n])
{
    const unsigned char few = 260;
    const signed char below = 255;
    const short any = b;
    for (int i = 0; i < n; i++)
        if (i > few + below)
            x[i] = few + below * i + any;
}

void shifts(int n, int a[restrict n], unsigned char u[restrict n], int64_t q[restrict n])
{
    for (int i = 0; i < n; i++) {
        a[i] <<= 2;
        u[i] >>= 1;
        q[i] = (q[i] << 5) + (a[i] >> 3);
    }
}

void counters_of_their_blocks(int n, double x[restrict n])
{
#pragma polysched assume n >= 1
    int i;
    {
        unsigned char i;
        for (i = 0; i < 2; i++)
            x[n - 1] += i;
    }
    for (i = 0; i < n; i++)
        x[i] += i * 100;
}

void last_elements(int n, int m, double *restrict A)
{
#pragma polysched shape A[n][m]
#pragma polysched assume n >= 1 && m >= 1
    for (int j = 0; j < m; j++)
        A[n * m - 1 - j] += j;
    A[n * m - 1] *= 2;
}

static int max(int a, int b) { return a > b ? a : b; }
static inline int64_t least(const int64_t a, const int64_t b)
{
    if (b >= a)
        return a;
    return b;
}
static real larger(real a, real b) { return b <= a ? a : b; }
static unsigned char narrower(unsigned char a, unsigned char b)
{
    if (a < b) { return a; } else { return b; }
}

void functions_of_the_file(int n, int m, int x[restrict n], float y[restrict n], const double z[n])
{
    for (int i = max(0, m - 5); i < max(n, 1) && i < n; i++) {
        x[i] = max(x[i], z[i]) + least(x[i], i - 3);
        y[i] = larger(y[i], z[i]) + narrower(x[i] + 200, i + 250);
    }
}

void branches_over_data(int n, int m, int x[restrict n], float y[restrict n], double z[restrict n])
{
#pragma polysched assume n >= 1
    int largest = -1000, positive = 0, at = 0;
    float total = -0.0f, top = -1e30f;
    for (int i = 0; i < n; i++) {
        if (x[i] > largest)
            largest = x[i];
        if (y[i] >= top)
            top = y[i], at = i;
        if (y[i] > 0)
            positive++;
        else if (z[i] > 0 || i % 3 == 0)
            total += y[i];
        if (i > 0 && x[i - 1] > x[i])
            x[i] -= x[i - 1];
        else
            z[i] *= -1;
        if (z[i] < 0.5)
            y[i] = x[i];
        else
            y[i] = z[i] + 16777217;
    }
    x[0] = largest;
    y[n - 1] = total + top;
    z[0] = positive * 100 + at;
}

void bits(int n, int b, int x[restrict n], unsigned char u[restrict n], int64_t q[restrict n])
{
#pragma polysched assume n >= 1
    unsigned all = ~0u, any = 0, odd = 0;
    for (int i = 0; i < n; i++) {
        x[i] = (x[i] & 0x55) | (x[i] ^ u[i]) << 3 | ~i;
        u[i] = u[i] >> (i & 7) ^ (x[i] > 0 & u[i] < 9);
        q[i] ^= (q[i] << u[i] % 60) + (x[i] >> (b & 31)) + (1u << 31) + (x[i] >> 31);
        u[i] &= ~x[i];
        if (i & 1)
            x[i] |= 64;
        if (q[i] & 1)
            all &= x[i];
        else
            odd ^= x[i], any |= u[i];
    }
    q[0] = all + any + odd;
}

static const float binomial[3] = {0.25f, 0.5, 0.25f};
const int sobel[][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0}};

void tables(int n, int m, float *restrict A, float x[restrict n])
{
#pragma polysched shape A[n][m]
    static const double taps[2][2] = {1, -0.5, 3};
    int order[3] = {2, 1 + n};
    for (int i = 1; i < n - 1; i++) {
        float sum = 0, edges = 0;
        for (int k = 0; k < 3; k++)
            sum += binomial[k] * x[i + k - 1] + order[k];
        for (int j = 1; j < m - 1; j++) {
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    edges += sobel[k][l] * A[(i + k - 1) * m + (j + l - 1)];
            A[(i - 1) * m + j] = edges + taps[1][0] * taps[0][1] + taps[1][1];
        }
        x[i] = sum;
    }
}

void first_of_rows(int n, int m, int k, float *restrict A, int64_t y[restrict n])
{
#pragma polysched shape A[n][m][3]
    for (int i = 0; i < n; i++) {
        const int row = i * m;
        long all = row * 3L - 1;
        for (int j = 0; j < m; j++) {
            int at = (row + j) * 3;
            A[at] += row;
            for (int c = 1; c < 3; c++)
                A[at + c] = A[at] * A[c + at];
        }
        y[i] = all;
    }
}

void pointers_to_rows(int n, int m, int k, float *restrict A, float B[restrict n][m])
{
#pragma polysched shape A[n][m][2]
#pragma polysched assume n >= 2 && m >= 1
    for (int i = 0; i < n; i++) {
        float *row = A + i * m * 2;
        const float *other = B[i], *last = &B[n - 1][m - 1];
        float *restrict element = &A[(i * m + m - 1) * 2] + 1;
        for (int j = 0; j < m; j++) {
            float *pair = row + 2 * j;
            pair[1] += other[j] * *last;
            *pair = pair[1] * 2;
        }
        *element -= 1;
        if (other[0] > 0)
            element[-1] = 3;
    }
}

static inline unsigned char sat(int v) { return v < 0 ? 0 : v > 255 ? 255 : v; }
static float squared(float v) { return v * v; }
static double distance(double a, float b) { return sqrt(squared(a) + squared(b) + sat(a * 100)); }
static int shifted(int i, int by) { return i - by; }

void written_out(int n, int k, unsigned char u[restrict n], double z[restrict n])
{
    for (int i = 1; i < n; i++) {
        z[i] = distance(z[i], z[shifted(i, 1)]) + sat(u[i] * k + 100);
        u[i] = sat(shifted(sat(u[i] + 50), i * 30));
    }
}

void exchanged(int n, float y[restrict n])
{
    for (int i = 1; i < n - 1; i++) {
        float a = y[i - 1], b = y[i], t;
        if (a > b) {
            t = a;
            a = b;
            b = t;
        }
        if (!(a < 0)) {
            float u = b * 2;
            for (int k = 0; k < 3; k++)
                if (u > k)
                    a += u - k;
        }
        y[i] = a;
    }
}

void continued(int n, int m, double z[restrict n])
{
    for (int i = 0; i < n; i++) {
        z[i] += 1;
        if (i == m)
            continue;
        if (z[i] > 0.5) {
            z[i] = 0.25;
            continue;
        }
        z[i] -= 3;
    }
}

void count_down(int n, unsigned m, double x[restrict n], float y[restrict m], long z[restrict n],
                int w[restrict 6])
{
    unsigned i;
    double last = 0;
    for (int j = n; j-- > 0;) {
        last = last * 0.5 + x[j];
        x[j] = last;
    }
    for (i = m; i--;)
        y[i] += i;
    for (int j = n - 1; --j >= 0;)
        z[j] += z[j + 1];
    for (signed char j = 5; 0 != j--;)
        w[j] = w[j + 1] * 3 + j;
    for (int j = -1; ++j < n;)
        z[j] -= j;
    for (int j = 0; j++ < n - 1;)
        z[j] += z[j - 1];
}

void round_halves(int n, double x[restrict n], float y[restrict n])
{
    for (int i = 0; i < n; i++) {
        x[i] = round(x[i] * 2) + round(i * 0.5 - 1);
        y[i] = roundf(y[i]) - roundf(0.5f * i);
    }
}
