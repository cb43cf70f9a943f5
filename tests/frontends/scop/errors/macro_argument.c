#define AT(i) x[(i) * (i)]
void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    AT(i) = 0;
}
