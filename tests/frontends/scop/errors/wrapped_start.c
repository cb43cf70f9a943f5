void f(size_t n, float A[n]) {
  size_t k = -5;
  for (size_t i = k; i < n; i++)
    A[i] = 0;
}
