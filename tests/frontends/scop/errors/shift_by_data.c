void f(int n, int k[n]) {
  for (int i = 0; i < n; i++)
    k[i] = k[i] << 32;
}
