/* Mean, variance, extrema of a long array in one pass. sizes: n=100000 */
void moments(int n, const float *restrict x, float *restrict out)
{
    float s = 0, q = 0, lo = x[0], hi = x[0];
    for (int i = 0; i < n; i++) {
        float v = x[i];
        s += v;
        q += v * v;
        if (v < lo) lo = v;
        if (v > hi) hi = v;
    }
    out[0] = s;
    out[1] = q;
    out[2] = lo;
    out[3] = hi;
}
