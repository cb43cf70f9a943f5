void f(int n, double x[n]) {
  if (n > 3)
    return;
  x[0] = 1;
}
