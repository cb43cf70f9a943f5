int f(int n, const double *x, double *out)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            out[k++] = x[i];
    return k;
}
