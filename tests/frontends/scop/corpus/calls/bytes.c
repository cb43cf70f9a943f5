#include "calls.h"

int main(void)
{
    enum { S = 45 };
    static uint8_t data[3 * S], other[3 * S], grid[S * S], next[S * S];
    static uint32_t table[256];
    static char text[4 * S], a[S], b[S];
    static int lcs_table[S * S], dist[S][S], in[S], best[100], weight[S], value[S];
    static long sums[S];
    static uint64_t words[S];
    FILL(data, 0, 256); FILL(grid, 0, 2); FILL(a, 97, 101); FILL(b, 97, 101); FILL2(dist, 1, 90);
    FILL(in, -50, 50); FILL(weight, 1, 20); FILL(value, 1, 50); FILL(words, 0, 1e18);
    crc32_table(table), SHOW("crc32_table", table);
    printf("%u %u %u %lu\n", adler32(data, 3 * S), crc32(table, data, 3 * S), fletcher16(data, S),
           (unsigned long)fnv1a(data, 3 * S));
    base64_groups(data, S, text), SHOW("base64_groups", text);
    printf("%d %d\n", edit_distance(a, 30, b, 25), lcs(a, 30, b, 25, lcs_table));
    SHOW("lcs", lcs_table);
    printf("%d\n", knapsack(weight, value, 9, best, 80)), SHOW("knapsack", best);
    floyd_warshall(S, dist), SHOW("floyd_warshall", dist);
    prefix_sum(in, sums, S), SHOW("prefix_sum", sums);
    counting_sort(data, other, 2 * S), SHOW("counting_sort", other);
    printf("%d %d %d\n", find_first(in, S, in[7]), find_first(in, S, 99), popcount_words(words, S));
    shift_left(in, S, 7), SHOW("shift_left", in);
    shift_left(in, S, 0), SHOW("shift_left by 0", in);
    printf("%d %d\n", memory_equal(data, data, S), memory_equal(data, other, S));
    life(grid, next, 13, 9), SHOW("life", next);
    life(grid, grid, 1, 9), SHOW("life in place", grid);
    return 0;
}
