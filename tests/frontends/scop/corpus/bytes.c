#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MOD_ADLER 65521
#define MAXLEN 64

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

uint32_t adler32(const unsigned char *data, size_t len)
{
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < len; ++i) {
        a = (a + data[i]) % MOD_ADLER;
        b = (b + a) % MOD_ADLER;
    }
    return (b << 16) | a;
}

void crc32_table(uint32_t table[256])
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = (c & 1) ? 0xEDB88320u ^ (c >> 1) : c >> 1;
        table[i] = c;
    }
}

uint32_t crc32(const uint32_t table[256], const uint8_t *buf, size_t len)
{
    uint32_t crc = 0xFFFFFFFFu;
    while (len--)
        crc = table[(crc ^ *buf++) & 0xFF] ^ (crc >> 8);
    return crc ^ 0xFFFFFFFFu;
}

uint16_t fletcher16(const uint8_t *data, int count)
{
    uint16_t sum1 = 0, sum2 = 0;
    for (int i = 0; i < count; i++) {
        sum1 = (sum1 + data[i]) % 255;
        sum2 = (sum2 + sum1) % 255;
    }
    return (sum2 << 8) | sum1;
}

uint64_t fnv1a(const void *key, size_t n)
{
    const unsigned char *p = key;
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < n; i++) {
        h ^= p[i];
        h *= 1099511628211ull;
    }
    return h;
}

void base64_groups(const uint8_t *in, size_t groups, char *out)
{
    for (size_t i = 0; i < groups; i++) {
        uint32_t v = (uint32_t)in[3 * i] << 16 | (uint32_t)in[3 * i + 1] << 8 | in[3 * i + 2];
        out[4 * i] = alphabet[v >> 18];
        out[4 * i + 1] = alphabet[(v >> 12) & 63];
        out[4 * i + 2] = alphabet[(v >> 6) & 63];
        out[4 * i + 3] = alphabet[v & 63];
    }
}

int edit_distance(const char *s, int n, const char *t, int m)
{
    int row[MAXLEN + 1];
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int previous = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int saved = row[j];
            int cost = s[i - 1] == t[j - 1] ? 0 : 1;
            int best = previous + cost;
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            previous = saved;
        }
    }
    return row[m];
}

int lcs(const char *a, int n, const char *b, int m, int *table)
{
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (i == 0 || j == 0)
                table[i * (m + 1) + j] = 0;
            else if (a[i - 1] == b[j - 1])
                table[i * (m + 1) + j] = table[(i - 1) * (m + 1) + j - 1] + 1;
            else {
                int up = table[(i - 1) * (m + 1) + j], left = table[i * (m + 1) + j - 1];
                table[i * (m + 1) + j] = up > left ? up : left;
            }
        }
    return table[n * (m + 1) + m];
}

int knapsack(const int *weight, const int *value, int items, int *best, int capacity)
{
    memset(best, 0, (capacity + 1) * sizeof *best);
    for (int i = 0; i < items; i++)
        for (int c = capacity; c >= 0; c--)
            if (c >= weight[i] && best[c - weight[i]] + value[i] > best[c])
                best[c] = best[c - weight[i]] + value[i];
    return best[capacity];
}

void floyd_warshall(int n, int dist[n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                if (dist[i][k] + dist[k][j] < dist[i][j])
                    dist[i][j] = dist[i][k] + dist[k][j];
}

void prefix_sum(const int *in, long *out, size_t n)
{
    long total = 0;
    for (size_t i = 0; i < n; i++) {
        out[i] = total;
        total += in[i];
    }
}

void counting_sort(const uint8_t *in, uint8_t *out, int n)
{
    int count[256] = {0}, start[256];
    for (int i = 0; i < n; i++)
        count[in[i]]++;
    start[0] = 0;
    for (int v = 1; v < 256; v++)
        start[v] = start[v - 1] + count[v - 1];
    for (int i = 0; i < n; i++)
        out[start[in[i]]++] = in[i];
}

int find_first(const int *x, int n, int key)
{
    int at = -1;
    for (int i = 0; i < n; i++)
        if (x[i] == key) {
            at = i;
            break;
        }
    return at;
}

int popcount_words(const uint64_t *w, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        uint64_t v = w[i];
        v = v - ((v >> 1) & 0x5555555555555555ull);
        v = (v & 0x3333333333333333ull) + ((v >> 2) & 0x3333333333333333ull);
        total += (int)((((v + (v >> 4)) & 0x0F0F0F0F0F0F0F0Full) * 0x0101010101010101ull) >> 56);
    }
    return total;
}

void shift_left(int *x, int n, int by)
{
    memmove(x, x + by, (n - by) * sizeof(int));
    memset(x + (n - by), 0, by * sizeof(int));
}

int memory_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

void life(const unsigned char *grid, unsigned char *next, int rows, int cols)
{
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            int alive = 0;
            for (int i = -1; i <= 1; i++)
                for (int j = -1; j <= 1; j++)
                    if (i || j)
                        alive += grid[((r + i + rows) % rows) * cols + (c + j + cols) % cols];
            next[r * cols + c] = alive == 3 || (alive == 2 && grid[r * cols + c]);
        }
}
