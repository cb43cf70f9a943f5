void f(int n, double x[n]) {
  for (int i = 0; i != n; i += 2)
    x[i] = 0;
}
