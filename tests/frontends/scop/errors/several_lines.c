void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    x[i] = 2 * x[i *
                 n] + 1;
}
