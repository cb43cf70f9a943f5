void f(int n, double x[n]) {
  for (int i = 0; i < n; i++) {
#pragma polysched reassociate
    x[i] = 1;
  }
}
