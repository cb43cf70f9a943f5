void f(int n, int x[n]) {
  int *row = x + 1;
  for (int i = 0; i < n - 7; i++)
    if (x[i])
      row[i & 6] = i;
}
