void f(n, x) int n; double x[n];
{
    for (int i = 0; i < n; i++)
        x[i] = 1;
}
