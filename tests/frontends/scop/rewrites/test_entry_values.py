"""Values that are computed before a part of a function is replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from tests.frontends.scop.calling import assert_rewritten_prints_the_same, needs_gcc

PROGRAM = """
#include <stdio.h>
#include <stddef.h>
static void notify(int n) { printf("at %d\\n", n); }

static void rows(int n, const size_t *row, const unsigned short *col, const double *v, double *y)
{
    for (int i = 0; i < n; i++) {
        double s = 0;
        notify(i);
        for (size_t k = row[i]; k < row[i + 1]; k++) s += v[k] * (k + 1);
        y[i] = s;
        for (int k = row[i]; k < (int)row[i + 1]; k++) y[i] += v[k];
    }
}

static int summed(const short *p, const short *end, short *out)
{
    int s = 0;
    notify(0);
    while (p < end) s += *p++;
    notify(s);
    for (; p != end + 3; ++p) *out++ = *p;
    notify(*out);
    return s;
}

static int halves(const unsigned char *first, const unsigned char *last)
{
    int s = 0;
    notify(1);
    for (const unsigned char *p = first; p < last; p++) s += *p;
    notify(s);
    for (; first <= last; last--) s ^= *last * 3;
    return s;
}

static void scaled(int n, const size_t *row, double *v)
{
    for (int i = 0; i < n; i++)
        for (size_t k = row[i]; k < row[i + 1]; k++) v[k] *= i + 1;
}

int main(void)
{
    size_t row[5] = {0, 3, 3, 7, 8};
    unsigned short col[8] = {0};
    double v[8] = {1, 2.5, 3, -4, 5, 6, 0.1, 8}, y[4];
    short x[20], out[20] = {0};
    unsigned char bytes[30];
    for (int i = 0; i < 20; i++) x[i] = i * 7 - 50;
    for (int i = 0; i < 30; i++) bytes[i] = i * i;
    rows(4, row, col, v, y);
    for (int i = 0; i < 4; i++) printf("%.17g\\n", y[i]);
    row[1] = 2;
    scaled(4, (const size_t *)row, v);
    rows(4, row, col, v, y);
    for (int i = 0; i < 4; i++) printf("%.17g\\n", y[i]);
    printf("%d %d\\n", summed(x, x + 9, out), summed(x + 4, x + 4, out));
    printf("%d\\n", summed(x, x + 1, x + 2));
    printf("%d %d\\n", halves(bytes, bytes + 29), halves(bytes + 1, bytes));
    for (int i = 0; i < 20; i++) printf("%d %d\\n", x[i], out[i]);
    return 0;
}
"""

REGIONS = {"rows": 1, "scaled": 1, "summed": 2, "halves": 1}


@needs_gcc
def test_bounds_from_elements_and_ends_of_walks(tmp_path: Path) -> None:
    assert_rewritten_prints_the_same(PROGRAM, tmp_path, REGIONS)


@pytest.mark.parametrize(
    "loop",
    [
        "for (int k = row[i]; k < n; k++) { row[k] = 2; }",  # the region writes the array
        "for (int k = 0; k < n && k < row[k]; k++) s += k;",  # C may not read the element
        "for (int k = row[i]; k < n; k++) { other[k] = 2; }",  # the arrays may overlap
    ],
)
def test_elements_that_are_not_read_before(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(
        "int notify(int);\n"
        f"int f(int n, int i, int *row, int *other) {{ int s = notify(n); {loop} return s; }}"
    )
    arguments = ["rewrite", str(path), "-o", str(tmp_path / "out.c")]
    assert CliRunner().invoke(main, arguments).exit_code == 2
