"""Loops of functions that have no translation as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import Promises
from polysched.frontends.scop.regions import replacements_of
from polysched.frontends.scop.rewriting import Edit, edited
from tests.frontends.scop.calling import assert_rewritten_prints_the_same, needs_gcc

FUNCTION = """
int log_line(const char *text);
void f(int n, float *x, float s)
{
    %s
}
"""


def regions(body: str, folder: Path) -> list[str]:
    """The text of each region that is found in the body of a function."""
    path = folder / "f.c"
    path.write_text(FUNCTION % body)
    replaced, _ = replacements_of(path, "f", Promises())
    found = []
    for one in replaced:
        first, last = one.edits
        marked = edited(path.read_text(), [_mark(first, "<<"), _mark(last, ">>")])
        found.append(" ".join(marked.split("<<")[1].split(">>")[0].split()))
    return found


def _mark(edit: Edit, text: str) -> Edit:
    return replace(edit, text=text)


LOOP = "for (int i = 0; i < n; i++) x[i] = s;"
SECOND = "for (int i = 0; i < n; i++) x[i] *= 2;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f'log_line("a"); {LOOP} log_line("b");', [LOOP]),
        (f'log_line("a"); {LOOP} s += 1; {SECOND}', [f"{LOOP} s += 1; {SECOND}"]),
        (f'{LOOP} log_line("a"); {SECOND}', [LOOP, SECOND]),
        (f'while (log_line("a")) {{ {LOOP} }}', [LOOP]),
        (f'if (log_line("a")) {LOOP} else {SECOND}', [LOOP, SECOND]),
        (f'switch (log_line("a")) {{ case 1: {LOOP} break; default: {SECOND} }}', [LOOP, SECOND]),
        (f'log_line("a"); if (n > 3) {{ {LOOP} }}', [f"if (n > 3) {{ {LOOP} }}"]),
        ('log_line("a"); while (n--) *x++ = s;', ["while (n--) *x++ = s;"]),
        (
            'for (int k = 0; k < 9; k++) { log_line("a"); for (int i = 0; i < n; i++) x[i] += k; }',
            ["for (int i = 0; i < n; i++) x[i] += k;"],
        ),
    ],
)
def test_loops_beside_calls(body: str, expected: list[str], tmp_path: Path) -> None:
    assert regions(body, tmp_path) == expected


@pytest.mark.parametrize(
    "body",
    [
        'log_line("a"); for (int i = 0; i < 4; i++) x[i] = s;',  # a call costs more
        'for (int k = 0; k < n; k++) { log_line("a"); if (s > 1) break; }',
        'again: log_line("a"); for (int i = 0; i < n; i++) if (x[i] > s) goto again;',
        f'\n#pragma omp parallel\n{{ log_line("a"); {LOOP} }}',
        'int i; for (i = 1; i < n; i++) if (x[i] > s) i++; log_line("a");',
        'while (n--) { *x++ = s; } log_line("a"); s = n;',
    ],
)
def test_loops_that_are_left_to_the_c_compiler(body: str, tmp_path: Path) -> None:
    assert regions(body, tmp_path) == []


def test_text_from_a_macro_or_under_a_condition_stays(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(
        f"#define LOOP {LOOP}\nint g(void);\n"
        "void f(int n, float *x, float s)\n{\n    g();\n    LOOP\n"
        "    for (int i = 0; i < n; i++)\n#ifdef TWO\n    { x[i] = 2; }\n#else\n    { x[i] = 1; }\n"
        "#endif\n}\n"
    )
    assert replacements_of(path, "f", Promises())[0] == []


MARKED = """
void f(unsigned char *d, const unsigned char *s, int n, int step)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        *d = *s++;
        d += step;
        if (*d > 3) d += 2;
    }
#pragma endscop
    *d = 0;
}
"""


def test_a_region_whose_pointer_moves_by_an_unknown_distance_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(MARKED)
    replaced, refused = replacements_of(path, None, Promises())
    assert replaced == []
    assert "moves the pointer 'd'" in str(refused[0].error)


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


def test_the_message_of_the_whole_function_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(FUNCTION % f'log_line("a"); {LOOP}')
    replaced, refused = replacements_of(path, None, Promises())
    assert len(replaced) == len(refused) == 1
    assert isinstance(refused[0].error, FrontendError)
    assert "log_line" in str(refused[0].error)
