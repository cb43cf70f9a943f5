void f(int n, double x[restrict 99])
{
    for (int i = 1; i++;)
        x[i] = 1;
}
