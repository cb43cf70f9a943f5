void f(int n, int x[n]) {
  for (int i = 0; i < n; i++)
    if (x[i])
      x[i & 6] = i;
}
