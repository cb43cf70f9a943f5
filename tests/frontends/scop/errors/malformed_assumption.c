void f(int n, double x[n]) {
#pragma polysched assume n >
  x[0] = 1;
}
