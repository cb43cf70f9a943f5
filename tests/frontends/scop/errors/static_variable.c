void f(int n, double x[n]) {
  static double calls = 0;
  calls += 1;
  x[0] = calls;
}
