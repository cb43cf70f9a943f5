union bits { double x; long y; };
void f(int n, union bits p[n]) {
  p[0].x = 1;
}
