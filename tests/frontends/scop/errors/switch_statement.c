void f(int n, double x[n]) {
  for (int i = 0; i < n; i++)
    switch (i % 2) {
      case 0:
        x[i] = 0;
      default:
        x[i] = 1;
    }
}
