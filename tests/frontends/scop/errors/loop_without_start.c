void f(int n, double x[n]) {
  int i;
  for (; i < n; i++)
    x[i] = 0;
}
