void f(int n, double x[n]) {
  for (int i = 0; i != n - 1; i++)
    x[i] = 0;
}
