void f(int n, double x[restrict n])
{
    int i;
    i = 3;
    for (i = 0; i < n; i++)
        x[i] = 1;
}
