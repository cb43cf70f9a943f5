void f(int n, int m, double x[n], double A[9][300]) {
  double *p = A[1];
  for (int i = 0; i < n; i++) {
    int row = i * m;
    if (x[i] < 0)
      p[row] = 1;
  }
}
