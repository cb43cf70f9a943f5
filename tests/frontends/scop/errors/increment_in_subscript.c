int f(int n, const double *x, double out[9][9])
{
    int k = 0;
    double *row = out[1];
    for (int i = 0; i < n; i++)
        if (x[i] > 0)
            row[k++] = x[i];
    return k;
}
