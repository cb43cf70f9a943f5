void f(int n, double x[restrict 99])
{
    for (int i = n; i--;)
        x[i] = 1;
}
