void f(int n, int m, double x[n]) {
  for (int i = 0; i < n; i++) {
    int row = i * m;
    if (x[i] < 0)
      x[row] = 1;
  }
}
