struct pair { double x, y; };
struct pair f(struct pair p) {
  p.x = 1;
  return p;
}
