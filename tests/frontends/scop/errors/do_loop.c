void f(int n, double x[n]) {
  do x[0] = 1; while (n > 0);
}
