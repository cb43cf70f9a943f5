void f(int n, double x[restrict 99])
{
    for (int i = n; i--;) {
        if (x[i] < 0)
            break;
        x[i] = 1;
    }
}
