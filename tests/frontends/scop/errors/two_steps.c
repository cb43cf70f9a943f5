void f(int n, double x[restrict n])
{
    for (int i = n; i-- > 0; i--)
        x[i] = 1;
}
