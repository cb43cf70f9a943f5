#define AT(i) x[(i) * (i)]
void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    if (x[i] < 0)
      AT(i) = 0;
}
