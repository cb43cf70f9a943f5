"""Arrays of pointers as rows of one array."""

from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c


def rows_of(body: str) -> str:
    (rows,) = parse_c(f"void f(double **a, double *s, int h, int w) {{ {body} }}").translation.rows
    return f"{rows.table} {rows.first} {rows.end} if {rows.condition}"


def test_the_rows_that_are_read_are_known_before() -> None:
    loops = "for (int y = 2; y < h; y++) for (int x = 0; x < w; x++)"
    expected = "a 1 (((long)h - 2L) + 1L) if (long)h >= 3 && (long)w >= 1"
    assert rows_of(f"{loops} a[y - 1][x] = 0;") == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for (int y = 0; y < h; y++) if (s[y] > 0) a[y][0] = 1;", "rows of 'a' .* not known"),
        ("for (int y = 0; y < h; y += 2) for (int k = 0; k < w; k++) a[y][k] = 1;", "not known"),
        ("for (int y = 0; y < h; y++) a[y] = s;", "a pointer to pointers"),
        ("for (int y = 0; y < h; y++) a[y]++;", "a pointer to pointers"),
    ],
)
def test_other_arrays_of_pointers_are_refused(body: str, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        rows_of(body)


def test_an_object_alone_cannot_read_the_pointers() -> None:
    program = parse_c("void f(double **a, int n) { for (int i = 0; i < n; i++) a[i][0] = 1; }")
    with pytest.raises(FrontendError, match="the rows of 'a' are only known at each call"):
        program.c_function()
