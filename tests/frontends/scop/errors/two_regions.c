void f(int n, double x[n]) {
#pragma scop
  x[0] = 1;
#pragma endscop
#pragma scop
  x[1] = 1;
#pragma endscop
}
