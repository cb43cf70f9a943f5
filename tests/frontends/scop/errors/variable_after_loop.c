void f(int n, int m, double x[n], int last[1]) {
  int i;
  if (m > 0)
    for (i = 0; i < n; i++)
      x[i] = 0;
  last[0] = i;
}
