int f(int n, int m, const int *x, const int *keys) {
  const int *row = x + 1;
  for (int i = 0; i < n; i++) {
    int k;
    for (k = 0; k < m; k++)
      if (row[i + k] != keys[k])
        break;
    if (k == m)
      return i;
  }
  return -1;
}
