void f(int n, double x[n]) {
  double *row = x + 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      if (x[i] < 0)
        row[i * j] = 0;
}
