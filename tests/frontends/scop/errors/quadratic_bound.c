void f(int n, double x[n]) {
  for (int i = 0; i < n * n; i++)
    x[0] = i;
}
