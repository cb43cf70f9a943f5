struct point { double x, y; };
void f(int n, struct point p[n]) {
  p[0].x = 1;
}
