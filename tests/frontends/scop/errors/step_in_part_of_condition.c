void f(int n, double x[restrict n])
{
    for (int i = n; i-- > 0 && n > 3;)
        x[i] = 1;
}
