"""Divisors that the innermost loop does not change become factors."""

from polysched.frontends.reciprocals import with_reciprocals
from polysched.frontends.scop import parse_c

ROWS = """
void normalize(int n, int m, const float r[restrict n], float x[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) x[i][j] = x[i][j] / r[i];
}
"""
MADE_INSIDE = """
void squash(int n, const float x[restrict n], float y[restrict n])
{
    for (int i = 0; i < n; i++) {
        float d = 1.0f + x[i];
        y[i] = x[i] / d;
    }
}
"""
ROOTS = """
#include <math.h>
void lengths(int n, const float x[restrict n], float y[restrict n])
{
    for (int i = 0; i < n; i++) y[i] = 1.0f / sqrtf(x[i]);
}
"""
INTEGERS = """
void divide(int n, int m, const int r[restrict n], int x[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) x[i][j] = x[i][j] / r[i];
}
"""
BOTH_KEPT = """
void scale(int n, int m, const float r[restrict n], float x[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) x[i][j] = 1.0f / r[i];
}
"""


def value(text: str, statement: str) -> str:
    return str(with_reciprocals(parse_c(text).kernel).statements[statement].value)


def test_a_divisor_of_a_row_becomes_a_factor() -> None:
    assert value(ROWS, "x") == "(x[i, j] * (1.0 / r[i]))"
    free = parse_c(ROWS).with_fast_math().kernel
    assert str(free.statements["x"].value) == "(x[i, j] * (1.0 / r[i]))"


def test_strict_programs_keep_their_divisions() -> None:
    assert str(parse_c(ROWS).kernel.statements["x"].value) == "(x[i, j] / r[i])"


def test_a_divisor_that_varies_has_a_reciprocal_of_its_own() -> None:
    assert value(MADE_INSIDE, "y") == "(x[i] * reciprocal(d[]))"
    assert value(ROOTS, "y") == "rsqrt(x[i])"


def test_other_divisions_stay() -> None:
    doubles = MADE_INSIDE.replace("float", "double")
    for text, statement in ((doubles, "y"), (INTEGERS, "x"), (BOTH_KEPT, "x")):
        assert value(text, statement) == str(parse_c(text).kernel.statements[statement].value)


def test_literal_powers_become_products() -> None:
    for exponent, product in (
        ("3.0f", "(d[] * (d[] * d[]))"),
        ("-1.5f", "reciprocal((sqrt(d[]) * d[]))"),
        ("0.25f", "pow(d[], 0.25)"),
    ):
        assert value(MADE_INSIDE.replace("x[i] / d", f"powf(d, {exponent})"), "y") == product
