void f(int n, double *x) {
#pragma polysched shape y[n]
  x[0] = 1;
}
