void f(int n, double x[n]) {
#pragma polysched assume n < 0
  x[0] = 1;
}
