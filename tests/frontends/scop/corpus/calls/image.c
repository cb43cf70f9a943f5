#include "calls.h"

int main(void)
{
    enum { W = 23, H = 14 };
    static uint8_t rgb[3 * W * H], gray[W * H], out[W * H], other[3 * W * H];
    static unsigned hist[256], sums[W * H];
    static uint8_t lut[256];
    static float plane[W * H];
    static pixel_t a[37], b[37];
    FILL(rgb, 0, 256);
    rgb_to_gray(rgb, gray, W, H), SHOW("rgb_to_gray", gray);
    box_blur3(gray, out, W, H), SHOW("box_blur3", out);
    sobel(gray, out, W - 2, H, W), SHOW("sobel", out);
    sobel(out, out, W, H, W), SHOW("sobel in place", out);
    histogram256(gray, W * H, hist), SHOW("histogram256", hist);
    equalize_lut(hist, W * H, lut), SHOW("equalize_lut", lut);
    for (int i = 0; i < 37; i++) {
        a[i] = (pixel_t){256 * uniform(), 256 * uniform(), 256 * uniform(), 256 * uniform()};
        b[i] = (pixel_t){256 * uniform(), 256 * uniform(), 256 * uniform(), 256 * uniform()};
    }
    alpha_over(a, b, 37), SHOW("alpha_over", a);
    alpha_over(a + 1, a, 36), SHOW("alpha_over of itself", a);
    dilate3x3(gray, out, W, H), SHOW("dilate3x3", out);
    yuv420_to_rgb(gray, rgb, rgb + W * H, other, W & ~1, H), SHOW("yuv420_to_rgb", other);
    FILL(plane, 0, 255);
    dither_fs(plane, out, W, H), SHOW("dither_fs", out), SHOW("its errors", plane);
    image_t im = {W - 3, H - 1, W, gray}, im2 = {W - 3, H - 1, W, out};
    image_invert(&im), SHOW("image_invert", gray);
    image_threshold(&im, &im2, 100), SHOW("image_threshold", out);
    image_threshold(&im, &im, 100), SHOW("image_threshold in place", gray);
    im2.data = (uint8_t *)&im2;
    im2.height = 1, im2.width = 4, im2.stride = 4;
    image_invert(&im2), show("image_invert of its own width", &im2, 12);
    resize_nearest(rgb, W, H, other, 17, 19), SHOW("resize_nearest", other);
    printf("%ld\n", integral_image(gray, sums, W, H)), SHOW("integral_image", sums);
    return 0;
}
