void f(int n, double *x) {
#pragma polysched shape n + 1
  x[0] = 1;
}
