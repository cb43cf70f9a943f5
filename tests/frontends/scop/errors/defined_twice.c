void f(int n, double x[restrict n])
{
    x[0] = 1;
}

void f(int n, double x[restrict n])
{
    x[0] = 2;
}
