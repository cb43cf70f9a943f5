void f(int n, double x[n]) {
  int k = 0;
  for (int i = 0; i < n; i++)
    x[i] = x[i] < 0 ? k++ : 0;
}
