"""Programs whose loops were found and replaced print the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends.scop.calling import (
    assert_rewritten_prints_the_same,
    needs_gcc,
)

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#define N 100

static int shown;

static void show(const char *name, const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * (i + 1);
    printf("%d %s %.17g\\n", shown++, name, sum);
}

static int scale(double *x, int n, double by, double *norm)
{
    if (x == NULL || n < 0) return -1;
    double s = 0;
    int i;
    for (i = 0; i < n; i++) s += x[i] * x[i];
    s = sqrt(s);
    if (norm) *norm = s;
    if (s == 0) { printf("zero\\n"); return 1; }
    for (i = 0; i < n; i++) x[i] *= by / s;
    return 0;
}

static void relax(double *u, const double *f, int n, int steps)
{
    double *next = malloc(n * sizeof(double));
    for (int t = 0; t < steps; t++) {
        double worst = 0;
        next[0] = u[0]; next[n - 1] = u[n - 1];
        for (int i = 1; i < n - 1; i++) {
            next[i] = 0.5 * (u[i - 1] + u[i + 1] - f[i]);
            double change = fabs(next[i] - u[i]);
            if (change > worst) worst = change;
        }
        memcpy(u, next, n * sizeof(double));
        if (worst < 1e-9) break;
        if (t % 3 == 0) show("step", u, n);
    }
    free(next);
}

static void mix(double *x, double *y, int n)
{
    if (n > 50) show("mix", x, n);
    for (int i = 0; i < n; i++) x[i] += 0.5 * y[i];
    for (int i = 0; i < n; i++) y[i] -= 0.25 * x[i];
}

static void notify(int n) { printf("at %d\\n", n); }

static int tails(const double *x, double *y, int n, int m)
{
    int i = m, k;
    notify(i);
    for (; i + 4 <= n; i += 4) {
        y[i] = x[i]; y[i + 1] = x[i + 1] * 2; y[i + 2] = x[i + 2]; y[i + 3] = x[i + 3] * 4;
    }
    notify(i);
    for (; i < n; i++) y[i] = x[i] * x[i];
    notify(i);
    for (k = n; k > m; k--) y[k - 1] += i;
    return i * 100 + k;
}

static double *packed(double *to, const double *from, int rows, int columns, int stride)
{
    for (int r = 0; r < rows; r++) {
        notify(r);
        for (int c = 0; c < columns; c++) *to++ = from[c] + 1;
        from += stride;
        for (int c = 0; c < 3; c++) *to++ = 0;
    }
    notify(rows);
    for (int r = 0; r < rows; r++) for (int c = 0; c < columns; c++) *to++ = 0.5;
    return to;
}

static double folded(const double *x, int n, int block)
{
    double total = 0;
    while (n > block) {
        double sum = 0;
        for (int k = 0; k < block; k++) sum += x[k] * k;
        x += block; n -= block;
        total = total * 0.5 + sum;
        notify(n);
    }
    while (n--) total += *x++;
    return total;
}

int main(void)
{
    double z[3 * N];
    double x[N + 5], y[N], norm = 0;
    for (int i = 0; i < N + 5; i++) x[i] = sin(i);
    for (int i = 0; i < N; i++) y[i] = cos(i);
    int first = scale(NULL, N, 2, NULL), second = scale(x, N, 2, &norm);
    int third = scale(y, 0, 1, NULL);
    printf("%d %d %d %.17g\\n", first, second, third, norm);
    show("x", x, N);
    relax(x, y, N, 8);
    mix(x, y, N);
    mix(x, x + 5, N);
    mix(x, x, 7);
    show("x", x, N);
    show("y", y, N);
    for (int i = 0; i < 3 * N; i++) z[i] = -i;
    printf("%d\\n", tails(x, z, 13, 2));
    printf("%d\\n", tails(x, z, 3, 5));
    printf("%d\\n", tails(x, z, 0, 0));
    printf("%d\\n", tails(z, z + 1, 50, 1));
    printf("%d\\n", (int)(packed(z, x, 5, 9, 11) - z));
    printf("%d\\n", (int)(packed(z, x, 3, -2, 11) - z));
    printf("%d\\n", (int)(packed(z, x, -2, -2, 11) - z));
    printf("%d\\n", (int)(packed(z + 3, z, 4, 7, 2) - z));
    printf("%.17g %.17g %.17g\\n", folded(x, 50, 7), folded(x, 7, 7), folded(x, 0, 7));
    show("z", z, 3 * N);
    return 0;
}
"""


@needs_gcc
@pytest.mark.parametrize("has_object", [True, False])
def test_a_program_with_found_regions_prints_the_same(has_object: bool, tmp_path: Path) -> None:
    counts = {"show": 1, "scale": 2, "relax": 1, "mix": 1, "tails": 3, "packed": 2, "folded": 2}
    assert_rewritten_prints_the_same(PROGRAM, tmp_path, counts, has_object=has_object)


FORMS = """
#include <stdio.h>
#include <string.h>
#define N 40

typedef struct { int rows; const int *start, *column; const double *value; } csr;

static unsigned long hashed(const char *s)
{
    unsigned long h = 5381;
    int c;
    while ((c = *s++)) h = h * 33 + c;
    return h;
}

static int upper(char *s)
{
    int changed = 0;
    if (s == NULL) return -1;
    while (*s) {
        if (*s >= 'a' && *s <= 'z') { *s -= 32; changed++; }
        s++;
    }
    return changed;
}

static int spaces(const char *text)
{
    int count = 0, i;
    for (const char *p = text; *p != '\\0'; ++p) count += *p == ' ';
    for (i = 0; text[i]; i++) count += 100;
    return count * 1000 + i;
}

static int overtaken(char *s)
{
    int steps = 0;
    while (*s) { s++; steps++; if (steps == 3) *s = 0; }
    return steps;
}

static int multiply(const csr *a, const double *x, double *y)
{
    if (!a || x == NULL) return -1;
    for (int r = 0; r < a->rows; r++) {
        double sum = 0;
        for (int k = a->start[r]; k < a->start[r + 1]; k++) sum += a->value[k] * x[a->column[k]];
        y[r] = sum;
    }
    return 0;
}

static void lags(const double *x, unsigned n, unsigned most, double *out)
{
    for (unsigned lag = 0; lag < most; lag++) {
        double sum = 0;
        for (unsigned i = 0; i < n - lag; i++) sum += x[i] * x[i + lag];
        out[lag] = sum;
    }
}

static unsigned heads(double *x, unsigned n)
{
    unsigned i;
    for (i = 0; i < n; i++) x[i] = i < n - 3 ? 1 : 2;
    return i;
}

static double means(const double *x, int rows, int columns, int groups, double *out)
{
    const double *p;
    double *q;
    int per = columns / groups, best, g, i;
    double sum, worst = 0;
    for (int r = 0; r < rows; r++) {
        printf("%d\\n", r);
        p = x + r * columns;
        q = out;
        for (g = 0; g < groups; g++) {
            sum = 0;
            for (i = 0; i < per; i++) sum += (p + g * per)[i];
            if (g == 0 || sum < worst) { worst = sum; best = g; }
            *q++ += sum / per;
        }
        for (i = 0; i < groups; i++) out[i] += best;
    }
    return worst;
}

static int filled(const double *x, const double *bias, int n)
{
    int total = 0;
    double own[n + 1];
    memset(own, 0, sizeof own);
    for (int i = 0; i < n; i++) own[i] += x[i] + (bias ? bias[i] : 0.5);
    for (int i = 0; i <= n; i++) total += own[i] > 0.25;
    return total;
}

static void decimated(const double *x, double *y, int n, int by, int from)
{
    for (int i = from; i < n; i += by) y[i] += x[i] * i;
    for (int b = 0; b + by <= n; b += by)
        for (int k = 1; k < by; k++) y[b + k] += y[b];
}

static int kept(double *x, int rows, int n)
{
    int i = 5, j;
    printf("kept\\n");
    for (int r = 0; r < rows; r++)
        for (i = 0; i < n; i++)
            for (j = 0; j < 2; j++) x[2 * i + j] += r;
    return i;
}

static void smoothed(double *a, double *b, int n, int steps)
{
    for (int t = 0; t < steps; t++) {
        const double *from = (t & 1) ? b : a;
        double *to = (t & 1) ? a : b;
        for (int i = 1; i < n - 1; i++) to[i] = 0.25 * (from[i - 1] + 2 * from[i] + from[i + 1]);
    }
}

static void show(const char *name, const double *x, int n)
{
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %a", x[i]);
    printf("\\n");
}

int main(void)
{
    char text[] = "a Word, and another one", empty[] = "", tail[] = "abcdef";
    double x[N + 8], y[N];
    int start[] = {0, 2, 2, 5, 6}, column[] = {3, 1, 0, 7, 2, 5};
    for (int i = 0; i < N + 8; i++) x[i] = (i * 7 % 11) - 4.5;
    for (int i = 0; i < N; i++) y[i] = i;
    csr a = {4, start, column, x};
    printf("%lu %lu %d %d %d %s\\n", hashed(text), hashed(empty), upper(text), upper(empty),
           upper(NULL), text);
    printf("%d %d %d\\n", spaces(text), spaces(empty), overtaken(tail));
    printf("%d %d %d\\n", multiply(&a, x, y), multiply(NULL, x, y), multiply(&a, NULL, y));
    a.rows = 0;
    printf("%d\\n", multiply(&a, x, y));
    lags(x, 30, 6, y), lags(x, 3, 4, y + 10), show("lags", y, N);
    printf("%u", heads(x, 9)), printf(" %u", heads(x + 9, 3)), printf(" %u", heads(x + 12, 2));
    printf(" %u\\n", heads(x + 16, 0)), show("heads", x, N);
    printf("%a\\n", means(x, 2, 12, 3, y)), printf("%a\\n", means(x, 0, 5, 2, y));
    printf("%a\\n", means(x, 3, 7, 2, y + 4)), show("means", y, N);
    decimated(x, y, 30, 7, 2), decimated(x, y, 5, 9, 3), decimated(x, y, 0, 1, 0);
    printf("%d ", kept(x, 0, 3)), printf("%d\\n", kept(x, 3, 7));
    smoothed(x, y, 20, 5), smoothed(x, y, 20, 0), show("steps", x, N), show("steps", y, N);
    printf("%d %d %d\\n", filled(x, y, 20), filled(x, NULL, 20), filled(x, x, 0));
    return 0;
}
"""


@needs_gcc
def test_forms_of_loops_and_pointers_print_the_same(tmp_path: Path) -> None:
    counts = {
        "hashed": 1, "upper": 1, "spaces": 2, "overtaken": 0, "multiply": 1, "lags": 1, "heads": 1,
        "means": 1, "filled": 1, "decimated": 1, "smoothed": 1,
    }  # fmt: skip
    assert_rewritten_prints_the_same(FORMS, tmp_path, counts, has_object=True)
