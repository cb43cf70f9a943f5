void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i * i; j++)
      x[0] = i;
}
