void f(int n, double x[restrict n])
{
    double t = 1;
    double t = 2;
    for (int i = 0; i < n; i++)
        x[i] = t;
}
