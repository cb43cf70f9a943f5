void f(int n, double x[n]) {
  int i = 0;
  while (i < n)
    x[i] = 0;
}
