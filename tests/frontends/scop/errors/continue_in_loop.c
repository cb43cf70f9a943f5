void f(int n, double x[n]) {
  for (int i = 0; i < n; i++) {
    if (i > 3) {
      if (x[i] > 0)
        continue;
      x[i] = 1;
    }
    x[i] = 0;
  }
}
