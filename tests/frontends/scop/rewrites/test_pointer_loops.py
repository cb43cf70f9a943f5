"""Loops that end at a pointer, countdowns, and headers with several variables."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = {
    "end": "const int *e = x + n; while (x < e) *y++ += *x++;",
    "unequal": "const int *p, *e = x + n; for (p = x; p != e; ++p) y[0] = y[0] * 3 + *p;",
    "steps": "const int *e = x + n; for (const int *p = x; p < e; p += 3) y[0] += p[0] - 2 * p[1];",
    "inclusive": "for (const int *p = x; p <= x + n; p++) y[0] = y[0] * 3 + *p;",
    "backward": "const int *p = x + n; while (p > x) y[0] = y[0] * 3 + *--p;",
    "twice": "const int *p; for (p = x; p < x + n; p++) y[0] = y[0] * 3 + *p; "
    "for (p = x + n; p > x; p--) y[1] = y[1] * 3 + *p;",
    "rows": "for (int i = 0; i < 3; i++) { const int *p = x + i * 2, *e = p + n; "
    "while (p != e) y[i] = y[i] * 3 + *p++; }",
    "once": "const int *e = x + n; do { *y++ = *x++ * 3; } while (x < e);",
    "once, steps": "const int *e = x + n; do { y[0] = y[0] * 3 + *x; x += 3; } while (x < e);",
    "once, inclusive": "const int *e = x + n; do { *y++ = *x; } while (++x <= e);",
    "countdown": "while (n > 0) { *y++ = *x++; n--; }",
    "header": "for (; n; --n) *y++ += *x++;",
    "follower": "for (int i = 0, j = n - 1; i < n; j = i++) y[i] = y[j] * 3 + x[i];",
    "middle": "int i, j; for (i = 0, j = n - 1; i < j; i++, j--) { int t = y[i]; y[i] = y[j]; "
    "y[j] = t; }",
    "meeting": "int *a = y, *b = y + n - 1; while (a < b) { int t = *a; *a++ = *b; *b-- = t; }",
    "apart": "for (int i = 0, j = 1; i < n; i++, j += 2) y[i] = x[j - i] + j;",
    "together": "int k = 0; for (int i = 0; i < n; i++) y[k++] = x[i];",
    "macro": "for (int i = 0; i < n; i++) do { int t = x[i]; y[i] += t; } while (0);",
    "string": 'const char t[] = "ab\\n\\x41\\101"; for (int i = 0; i < n; i++) y[i] = t[i % 6];',
}


@needs_gcc
@pytest.mark.parametrize("name", BODIES)
def test_loops_do_what_gcc_does(name: str, tmp_path: Path) -> None:
    calls = [
        (
            np.arange(40, dtype=np.int32) * 7 % 11,
            np.arange(40, dtype=np.int32),
            ctypes.c_int(n),
        )
        for n in (0, 1, 2, 3, 4, 7, 16, 17)
    ]
    text = f"void f(const int *x, int *y, int n) {{ {BODIES[name]} }}"
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "const int *e = x + n; x++; while (x < e) y[0] += *x++;",
        "const int *e = x + n; while (x < e) { if (*x) y[0] += *x++; }",
        "const int *e = x + n; while (x < e) { y[0] += *x++; n--; e = x + n; }",
        "const int *e = x + n; while (x < e) { y[0] += *x++; e++; }",
    ],
)
def test_loops_that_do_not_count_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"void f(const int *x, int *y, int n) {{ {body} }}")
