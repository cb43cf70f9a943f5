void f(int n, double x[n]) {
  int i;
  for (i = 0; i < n; i++)
    x[i] = 0;
  x[0] = i;
}
