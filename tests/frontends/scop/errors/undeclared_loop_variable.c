void f(int n, double x[n]) {
  for (i = 0; i < n; i++)
    x[i] = 0;
}
