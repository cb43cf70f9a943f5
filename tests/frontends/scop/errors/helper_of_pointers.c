static void fill(double **x, int n) { x[0][n] = 0; }
void f(int n, double **x) {
#pragma scop
  fill(x, n);
#pragma endscop
}
