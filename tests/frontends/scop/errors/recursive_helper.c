static void fill(double *x, int n) {
  x[n] = 0;
  fill(x, n - 1);
}
void f(int n, double x[n + 1]) {
#pragma scop
  fill(x, n);
#pragma endscop
}
