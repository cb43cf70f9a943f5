double f(int n, double x[restrict n])
{
    return n > 0 ? f(n - 1, x) : 0;
}
