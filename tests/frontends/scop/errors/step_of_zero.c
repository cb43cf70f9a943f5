void f(int n, double x[n]) {
  for (int i = 0; i < n; i += 0)
    x[i] = 0;
}
