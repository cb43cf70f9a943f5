void f(unsigned n, double x[restrict 99])
{
    for (unsigned i = n; i >= 0; i--)
        x[i] = 1;
}
