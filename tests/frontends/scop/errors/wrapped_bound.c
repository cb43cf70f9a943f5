void f(size_t n, float A[n]) {
  const size_t k = -5;
  for (size_t i = 0; i < n + k; i++)
    A[i] = 0;
}
