void f(double x[300]) {
  double *row = x + 1;
  for (int i = 0; i < 200; i++)
    if (x[0] < 0)
      row[(char)i] = 0;
}
