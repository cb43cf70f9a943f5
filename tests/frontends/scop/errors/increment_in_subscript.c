void f(int n, double x[restrict n])
{
    int k = 0;
    for (int i = 0; i < n; i++)
        x[k++] = 1;
}
