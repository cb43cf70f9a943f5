void f(unsigned n, double x[restrict n])
{
    for (unsigned i = n; --i > 0;)
        x[i] = 1;
}
