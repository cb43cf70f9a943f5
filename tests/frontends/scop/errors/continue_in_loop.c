void f(int n, double x[n]) {
  for (int i = 0; i < n; i++) {
    if (i > 3)
      continue;
    x[i] = 0;
  }
}
