void f(int n, double x[restrict n])
{
#pragma polysched assume n > 1 \
        && n < 9
    for (int i = 0; i < n; i++)
        x[i] = 1;
}
