void f(int n, double x[n]) {
  int i;
  for (i = 0; i < n; i++)
    for (i = 0; i < 3; i++)
      x[i] = 0;
}
