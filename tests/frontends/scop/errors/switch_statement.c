void f(int n, double x[n]) {
  switch (n) { case 1: x[0] = 1; }
}
