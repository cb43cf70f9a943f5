struct __attribute__((packed)) pair { char kind; double x; };
void f(int n, struct pair *p) {
  for (int i = 0; i < n; i++)
    p[i].x = 1;
}
