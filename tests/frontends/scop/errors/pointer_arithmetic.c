void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    *(1 + x) = 0;
}
