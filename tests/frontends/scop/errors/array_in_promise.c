void f(int n, const int m[n], double x[restrict n]) {
#pragma polysched assume n >= 1 && m >= 1
  for (int i = 0; i < n; i++)
    x[i] = m[i];
}
