void f(int n, int m, double x[n][m]) {
  double *row = x[0];
  for (int i = 0; i < n; i++) {
    row[0] = 1;
    row += m;
  }
}
