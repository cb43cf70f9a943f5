void f(int n, int m, double x[n]) {
  for (int i = 0; m < n; i++)
    x[i] = 0;
}
