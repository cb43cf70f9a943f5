void f(int n, double x[n], int k[n]) {
  for (int i = 0; i < n; i++)
    if (x[i] < 0)
      x[k[i]] = 0;
}
