void f(int n, double A[n][n]) {
  A[0] = 1;
}
