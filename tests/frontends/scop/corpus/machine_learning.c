#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rows, cols;
    float *data;
} matrix;

typedef struct {
    float weight[16][16];
    float bias[16];
} layer;

static float relu(float v) { return v > 0 ? v : 0; }

static void add_bias(float *row, const float *bias, int n)
{
    for (int i = 0; i < n; i++)
        row[i] += bias[i];
}

void dense_relu(const float *x, const float *w, const float *bias, float *y, int batch, int in, int out)
{
    for (int b = 0; b < batch; b++) {
        for (int o = 0; o < out; o++) {
            float s = 0;
            for (int i = 0; i < in; i++)
                s += x[b * in + i] * w[o * in + i];
            y[b * out + o] = s;
        }
        add_bias(&y[b * out], bias, out);
        for (int o = 0; o < out; o++)
            y[b * out + o] = relu(y[b * out + o]);
    }
}

void layer_forward(const layer *l, const float *x, float *y)
{
    for (int i = 0; i < 16; i++) {
        y[i] = l->bias[i];
        for (int j = 0; j < 16; j++)
            y[i] += l->weight[i][j] * x[j];
    }
}

void matrix_transpose(const matrix *a, matrix *b)
{
    for (int i = 0; i < a->rows; i++)
        for (int j = 0; j < a->cols; j++)
            b->data[j * a->rows + i] = a->data[i * a->cols + j];
}

void conv2d(const float *in, const float *k, float *out, int h, int w, int kh, int kw)
{
    int oh = h - kh + 1, ow = w - kw + 1;
    for (int y = 0; y < oh; y++)
        for (int x = 0; x < ow; x++) {
            float s = 0;
            for (int i = 0; i < kh; i++)
                for (int j = 0; j < kw; j++)
                    s += in[(y + i) * w + x + j] * k[i * kw + j];
            out[y * ow + x] = s;
        }
}

void maxpool2(const float *in, float *out, int h, int w)
{
    for (int y = 0; y < h / 2; y++)
        for (int x = 0; x < w / 2; x++) {
            float m = -FLT_MAX;
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    m = fmaxf(m, in[(2 * y + i) * w + 2 * x + j]);
            out[y * (w / 2) + x] = m;
        }
}

void kmeans_assign(const float *points, const float *centers, int *label, int n, int k, int dim)
{
    for (int i = 0; i < n; i++) {
        float best = FLT_MAX;
        int arg = 0;
        for (int c = 0; c < k; c++) {
            float d = 0;
            for (int j = 0; j < dim; j++) {
                float t = points[i * dim + j] - centers[c * dim + j];
                d += t * t;
            }
            if (d < best) {
                best = d;
                arg = c;
            }
        }
        label[i] = arg;
    }
}

float quantize_int8(const float *x, int8_t *q, int n)
{
    float amax = 0.0f;
    for (int i = 0; i < n; i++) {
        float v = fabsf(x[i]);
        if (v > amax)
            amax = v;
    }
    const float d = amax / 127.0f;
    const float id = d ? 1.0f / d : 0.0f;
    for (int i = 0; i < n; i++)
        q[i] = (int8_t)roundf(x[i] * id);
    return d;
}

void layernorm(float *x, const float *g, const float *b, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        float *p = x + r * cols;
        float mean = 0, var = 0;
        for (int c = 0; c < cols; c++)
            mean += p[c];
        mean /= cols;
        for (int c = 0; c < cols; c++)
            var += (p[c] - mean) * (p[c] - mean);
        var = 1.0f / sqrtf(var / cols + 1e-5f);
        for (int c = 0; c < cols; c++)
            p[c] = (p[c] - mean) * var * g[c] + b[c];
    }
}
