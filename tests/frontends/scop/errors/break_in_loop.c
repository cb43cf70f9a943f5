void f(int n, double x[n]) {
  n -= 1;
#pragma scop
  for (int i = 0; i < n; i++) {
    x[i] = 0;
    break;
  }
#pragma endscop
}
