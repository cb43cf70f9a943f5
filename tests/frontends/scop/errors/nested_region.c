void f(int n, double x[n]) {
#pragma scop
#pragma scop
  x[0] = 1;
#pragma endscop
}
