void f(int n, const double m[n], double *x) {
  double *last = x;
  for (int i = 0; i < n; i++) {
    if (m[i] > 0)
      continue;
    last = x;
    *x++ = m[i];
  }
}
