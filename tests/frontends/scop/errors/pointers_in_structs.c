struct row { int n; double *x; };
void f(int n, struct row *rows) {
  for (int i = 0; i < n; i++)
    rows[i].x[0] = rows[i].n;
}
