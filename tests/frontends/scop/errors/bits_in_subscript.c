void f(int n, int x[n], int A[9][300]) {
  int *row = A[1];
  for (int i = 0; i < n - 7; i++)
    if (x[i])
      row[i & 6] = i;
}
