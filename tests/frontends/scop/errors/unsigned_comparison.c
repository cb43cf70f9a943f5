#include <stddef.h>
void f(size_t n, int k, double x[n]) {
  for (int i = k; i < n; i++)
    x[0] = i;
}
