void f(int n, double **x) {
  x[0][0] = 1;
}
