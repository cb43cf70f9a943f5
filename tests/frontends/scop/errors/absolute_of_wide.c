void f(double x[restrict 9])
{
    for (unsigned b = 0; b < 3000000000u; b++)
        if (abs(b) < 9)
            x[abs(b)] = 1;
}
