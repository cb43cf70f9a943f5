void f(int n, const int *ptr, const double *v, double *y) {
  for (int i = 0; i < n; i++)
    for (int j = ptr[i]; j < ptr[i + 1]; j++)
      y[i] += v[j];
}
