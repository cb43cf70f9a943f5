void f(int n, double x[n]) {
#pragma scop
  {
    x[0] = 1;
#pragma endscop
  }
}
