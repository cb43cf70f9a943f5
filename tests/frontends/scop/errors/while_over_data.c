void f(int n, double x[n]) {
  int i = 0;
  while (x[i] > 0) { x[i] = 0; i++; }
}
