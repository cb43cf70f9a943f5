void f(double x[restrict 300])
{
    for (int k = 0; k < 300; k++)
        for (signed char i = k; i > 0; i--)
            x[i] = 1;
}
