void f(int n, double *x) {
#pragma polysched shap x[n]
  x[0] = 1;
}
