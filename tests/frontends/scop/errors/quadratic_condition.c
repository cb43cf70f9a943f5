void f(int n, double x[n]) {
  for (int i = 0; i * i < n; i++)
    x[0] = i;
}
