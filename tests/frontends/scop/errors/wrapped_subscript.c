void f(int n, float A[9][n], float x[n]) {
  size_t k = -5;
  float *row = A[1];
  for (size_t i = 0; i < n; i++)
    if (x[i] < 0)
      row[i + k] = 0;
}
