/* Random arguments, and a hash of the bytes that each call leaves. SOURCE is the file under test. */
#include SOURCE
#include <stdio.h>
#include <stdlib.h>

static unsigned state = SEED;

static double uniform(void)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) / 16777216.0;
}

#define FILL(x, low, high)                                              \
    for (size_t at = 0; at < sizeof(x) / sizeof((x)[0]); at++)          \
    (x)[at] = (low) + ((high) - (low)) * uniform()
#define FILL2(x, low, high)                                             \
    for (size_t row = 0; row < sizeof(x) / sizeof((x)[0]); row++)       \
    FILL((x)[row], low, high)

static void show(const char *name, const void *bytes, size_t count)
{
    unsigned long hash = 14695981039346656037ul;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211ul;
    printf("%s %016lx\n", name, hash);
}
#define SHOW(name, x) show(name, &(x), sizeof(x))
