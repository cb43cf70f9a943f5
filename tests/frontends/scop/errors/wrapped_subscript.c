void f(int n, float A[n]) {
  size_t k = -5;
  float *row = A + 9;
  for (size_t i = 0; i < n; i++)
    if (A[i] < 0)
      row[i + k] = 0;
}
