#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLAMP8(v) ((v) < 0 ? 0 : (v) > 255 ? 255 : (v))

typedef struct { uint8_t r, g, b, a; } pixel_t;

typedef struct {
    int width, height, stride;
    uint8_t *data;
} image_t;

void rgb_to_gray(const uint8_t *rgb, uint8_t *gray, int w, int h)
{
    for (int i = 0; i < w * h; i++)
        gray[i] = (77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8;
}

void box_blur3(const uint8_t *src, uint8_t *dst, int w, int h)
{
    int x, y;
    for (y = 1; y < h - 1; y++)
        for (x = 1; x < w - 1; x++) {
            int sum = 0;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++)
                    sum += src[(y + dy) * w + x + dx];
            dst[y * w + x] = (uint8_t)(sum / 9);
        }
}

void sobel(const uint8_t *src, uint8_t *dst, int w, int h, int stride)
{
    for (int y = 1; y < h - 1; ++y) {
        const uint8_t *up = src + (y - 1) * stride;
        const uint8_t *row = src + y * stride;
        const uint8_t *down = src + (y + 1) * stride;
        uint8_t *out = dst + y * stride;
        for (int x = 1; x < w - 1; ++x) {
            int gx = up[x + 1] - up[x - 1] + 2 * (row[x + 1] - row[x - 1]) + down[x + 1] - down[x - 1];
            int gy = down[x - 1] - up[x - 1] + 2 * (down[x] - up[x]) + down[x + 1] - up[x + 1];
            int mag = abs(gx) + abs(gy);
            out[x] = mag > 255 ? 255 : mag;
        }
    }
}

void histogram256(const uint8_t *img, size_t n, unsigned hist[256])
{
    memset(hist, 0, 256 * sizeof(*hist));
    for (size_t i = 0; i < n; i++)
        hist[img[i]]++;
}

void equalize_lut(const unsigned hist[256], unsigned total, uint8_t lut[256])
{
    unsigned cdf = 0;
    for (int i = 0; i < 256; i++) {
        cdf += hist[i];
        lut[i] = (uint8_t)((uint64_t)cdf * 255 / total);
    }
}

static inline uint8_t mix(uint8_t a, uint8_t b, unsigned alpha)
{
    return (uint8_t)((a * alpha + b * (255u - alpha) + 127u) / 255u);
}

void alpha_over(pixel_t *dst, const pixel_t *src, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned alpha = src[i].a;
        dst[i].r = mix(src[i].r, dst[i].r, alpha);
        dst[i].g = mix(src[i].g, dst[i].g, alpha);
        dst[i].b = mix(src[i].b, dst[i].b, alpha);
        dst[i].a = 255;
    }
}

void dilate3x3(const uint8_t *src, uint8_t *dst, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            uint8_t best = 0;
            for (int j = -1; j <= 1; j++)
                for (int i = -1; i <= 1; i++) {
                    int yy = y + j, xx = x + i;
                    if (yy < 0 || yy >= h || xx < 0 || xx >= w)
                        continue;
                    uint8_t v = src[yy * w + xx];
                    if (v > best)
                        best = v;
                }
            dst[y * w + x] = best;
        }
}

void yuv420_to_rgb(const uint8_t *yp, const uint8_t *up, const uint8_t *vp, uint8_t *rgb, int w, int h)
{
    for (int j = 0; j < h; j++)
        for (int i = 0; i < w; i++) {
            int c = yp[j * w + i] - 16;
            int d = up[(j / 2) * (w / 2) + i / 2] - 128;
            int e = vp[(j / 2) * (w / 2) + i / 2] - 128;
            int r = (298 * c + 409 * e + 128) >> 8;
            int g = (298 * c - 100 * d - 208 * e + 128) >> 8;
            int b = (298 * c + 516 * d + 128) >> 8;
            uint8_t *p = rgb + 3 * (j * w + i);
            p[0] = CLAMP8(r);
            p[1] = CLAMP8(g);
            p[2] = CLAMP8(b);
        }
}

void dither_fs(float *img, uint8_t *out, int w, int h)
{
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float old = img[y * w + x];
            float q = old < 128.0f ? 0.0f : 255.0f;
            float err = old - q;
            out[y * w + x] = q > 0.0f;
            if (x + 1 < w)
                img[y * w + x + 1] += err * 7 / 16;
            if (y + 1 < h) {
                if (x > 0)
                    img[(y + 1) * w + x - 1] += err * 3 / 16;
                img[(y + 1) * w + x] += err * 5 / 16;
                if (x + 1 < w)
                    img[(y + 1) * w + x + 1] += err * 1 / 16;
            }
        }
}

void image_invert(image_t *im)
{
    for (int y = 0; y < im->height; y++)
        for (int x = 0; x < im->width; x++)
            im->data[y * im->stride + x] = 255 - im->data[y * im->stride + x];
}

void image_threshold(const image_t *in, image_t *out, uint8_t level)
{
    for (int y = 0; y < in->height; y++) {
        const uint8_t *s = in->data + y * in->stride;
        uint8_t *d = out->data + y * out->stride;
        for (int x = 0; x < in->width; x++)
            d[x] = s[x] >= level ? 255 : 0;
    }
}

void resize_nearest(const uint8_t *src, int sw, int sh, uint8_t *dst, int dw, int dh)
{
    for (int y = 0; y < dh; y++) {
        int sy = y * sh / dh;
        for (int x = 0; x < dw; x++) {
            int sx = x * sw / dw;
            dst[y * dw + x] = src[sy * sw + sx];
        }
    }
}

long integral_image(const uint8_t *src, unsigned *sum, int w, int h)
{
    for (int y = 0; y < h; y++) {
        unsigned row = 0;
        for (int x = 0; x < w; x++) {
            row += src[y * w + x];
            sum[y * w + x] = row + (y > 0 ? sum[(y - 1) * w + x] : 0);
        }
    }
    return (long)sum[w * h - 1];
}
