void f(int n, double x[n]) {
  int i = 0;
  for (; i < n; i++)
    x[i] = 0;
}
