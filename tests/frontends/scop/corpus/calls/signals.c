#include "calls.h"

int main(void)
{
    enum { S = 53 };
    static float x[S], y[S], h[7], tmp[S], ring[5];
    static double re[S], im[S], ore[S], oim[S];
    static int16_t block[64], out[64], left[S], right[S], stereo[2 * S];
    static uint16_t q[64];
    static float f64[64];
    static cfloat a[S], b[S], c[S];
    static uint8_t bytes[S];
    static int in[S], median[S];
    FILL(x, -2, 2); FILL(h, -1, 1); FILL(re, -1, 1); FILL(im, -1, 1);
    fir(x, y, S, h, 7), SHOW("fir", y);
    biquad f = {0.2f, 0.3f, 0.2f, -0.4f, 0.1f, 0, 0};
    biquad_process(&f, x, y, S), SHOW("biquad_process", y), SHOW("its state", f);
    biquad_process(&f, x, x, S), SHOW("biquad_process in place", x);
    biquad_process(&f, x, &f.b0, 3), SHOW("biquad_process onto itself", f);
    fir_state s = {{0}, {0}, TAPS};
    FILL(s.taps, -1, 1);
    for (int i = 0; i < 20; i++)
        printf("%a\n", fir_push(&s, x[i]));
    FILL(block, -500, 500); FILL(q, 1, 60);
    dct8x8(block, f64), SHOW("dct8x8", f64);
    quantize_zigzag(block, q, out), SHOW("quantize_zigzag", out);
    for (int i = 0; i < S; i++)
        a[i].re = uniform(), a[i].im = uniform(), b[i].re = uniform(), b[i].im = uniform();
    complex_multiply(a, b, c, S), SHOW("complex_multiply", c);
    complex_multiply(a, b, a + 1, S - 1), SHOW("complex_multiply of itself", a);
    dft(re, im, ore, oim, S), SHOW("dft", ore), SHOW("dft", oim);
    FILL(left, -30000, 30000); FILL(right, -30000, 30000);
    mix_stereo(stereo, left, right, S, 300), SHOW("mix_stereo", stereo);
    printf("%d %d\n", peak(left, S), zero_crossings(y, S));
    delay_line(ring, 5, x, y, S, 0.5f), SHOW("delay_line", y);
    haar_step(x, tmp, S), SHOW("haar_step", x);
    FILL(in, -100, 100);
    median3(in, median, S), SHOW("median3", median);
    FILL(bytes, 0, 256);
    ulaw_decode(bytes, left, S), SHOW("ulaw_decode", left);
    softmax(x, S), printf("%.4f %.4f\n", x[3], x[40]); /* expf may differ in its last bit */
    return 0;
}
