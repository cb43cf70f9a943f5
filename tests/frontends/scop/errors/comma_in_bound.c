void f(int n, double x[restrict n])
{
    for (int i = (n, 0); i < n; i++)
        x[i] = 1;
}
