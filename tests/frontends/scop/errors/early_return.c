void f(int n, double x[n]) {
  n -= 1;
#pragma scop
  if (n > 3)
    return;
  x[0] = 1;
#pragma endscop
}
