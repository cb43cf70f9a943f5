void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (x[i] < 0)
        x[i * j] = 0;
}
