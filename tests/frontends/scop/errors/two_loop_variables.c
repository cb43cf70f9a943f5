int f(int n, double x[n]) {
  int i, j;
  for (i = 0, j = 1; i < j; i++, j *= 2)
    x[i] = 0;
  return j;
}
