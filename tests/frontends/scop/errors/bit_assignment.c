void f(int n, float x[n]) {
  for (int i = 0; i < n; i++)
    x[i] &= 1;
}
