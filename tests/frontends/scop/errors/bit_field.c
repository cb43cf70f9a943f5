struct flags { int kind : 3; double x; };
void f(int n, struct flags *p) {
  for (int i = 0; i < n; i++)
    p[i].x = 1;
}
