void f(double x[restrict 99])
{
    for (int i = 0; i < 089; i++)
        x[i] = 1;
}
