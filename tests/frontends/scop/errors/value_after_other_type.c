void f(long n, double x[n]) {
  int i;
  for (i = 0; i + 3 < n; i += 4)
    x[i] = 0;
  for (; i < n; i++)
    x[i] = 1;
}
