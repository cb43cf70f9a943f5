/* The least and the largest of many numbers, with ifs. sizes: n=200000 */
void value_range(int n, const double x[restrict n], double range[restrict 2])
{
    double low = x[0], high = x[0];
    for (int i = 1; i < n; i++) {
        if (x[i] < low)
            low = x[i];
        if (x[i] > high)
            high = x[i];
    }
    range[0] = low;
    range[1] = high;
}
