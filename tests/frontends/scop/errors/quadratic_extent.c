void f(int n, double x[n * n]) {
  for (int i = 0; i < n; i++)
    x[i] = 0;
}
