int f(int n, const int *x, int *out)
{
    int i = 0, k = 0;
    while (i < n) {
        int run = x[i] > 3 ? 2 : 1;
        out[k++] = run;
        i += run;
    }
    return k;
}
