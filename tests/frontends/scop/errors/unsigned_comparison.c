#include <stddef.h>
void f(size_t n, double x[n]) {
  for (int i = -1; i < n; i++)
    x[0] = i;
}
