void f(int n, const double x[n], int k[restrict n]) {
  for (int i = 0; i < n; i++)
    k[i] = 3 | (x[i] ^ 1);
}
