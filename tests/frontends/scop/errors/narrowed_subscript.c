void f(double x[300], double A[9][300]) {
  double *row = A[1];
  for (int i = 0; i < 200; i++)
    if (x[0] < 0)
      row[(char)i] = 0;
}
