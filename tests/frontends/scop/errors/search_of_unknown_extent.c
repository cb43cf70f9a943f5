int f(int n, const int *x, int key) {
  for (int i = 0; i < n; i++)
    if (x[i] == key)
      return i;
  return -1;
}
