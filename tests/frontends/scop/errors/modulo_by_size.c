void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    if (x[i] < 0)
      x[i * 5 % n] = 0;
}
