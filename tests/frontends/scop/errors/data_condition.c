void f(int n, double x[n]) {
  for (int i = 0; i < n && x[i] > 0; i++)
    x[i] = 0;
}
