void f(int n, unsigned b, double x[restrict n])
{
    for (int i = 0; i < n; i++)
        if (abs(b) < 9)
            x[i] = 1;
}
