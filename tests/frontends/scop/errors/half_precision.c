void f(int n, _Float16 *x) {
  for (int i = 0; i < n; i++)
    x[i] = 0;
}
