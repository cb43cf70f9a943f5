void f(int n, double x[restrict 300])
{
    for (signed char i = n; i > 0; i--)
        x[i] = 1;
}
