void f(int n, double x[restrict n])
{
    for (int i = 0; i < n; i++)
        x[i] = größe;
}
