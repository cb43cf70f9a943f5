void f(int n, const double m[n], double *x) {
  double *end = x;
  for (int i = 0; i < n; i++)
    if (m[i] > 0)
      *x++ = m[i], end = x;
}
