void f(int n, double x[n]) {
  for (int i = 0; x[i] > 0; i++)
    x[i] = 0;
}
