void f(int n, double x[n]) {
  int i, j;
  for (i = 0, j = 1; i < n; i++)
    x[i] = 0;
}
