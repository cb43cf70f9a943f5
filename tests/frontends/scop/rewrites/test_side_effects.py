"""Side effects inside expressions, and walks that a condition moves: what gcc's code computes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = [
    "int at = 0; for (int i = 0; i < n; i++) { y[i] = x[i] * at; if (++at >= 3) at = 0; } "
    "return at;",
    "int t; for (int i = 0; i < n; i++) { y[i] = x[i] - (t = x[i] / 3); y[i] += t * t; } return 0;",
    "int c[9] = {0}; for (int i = 0; i < n; i++) { int k = x[i] % 9; y[i] = c[k]++; } return c[4];",
    "int k = 3, s = 0; for (int i = 0; i < n; i++) { int v = k++ * x[i]; s += v - --k; "
    "y[i] = s + y[n]++; } return s;",
    "int k = 0; for (int i = 0; i < n; i++) { *y = x[k++ % 5] + y[n]--; y += 2; } return k;",
    "int m, s = 0; for (int i = 0; i < n; i++) if ((m = x[i] * 2) > 5 && m < 150) s += m; "
    "return s;",
    "int k = 0; for (int i = 0; i < n; i++) { int d = ++k * x[i]; if (d > 90) k = 3; y[i] = d; } "
    "return k;",
    "int c = 0; while (n-- > 0) { if (*x++ > 40) c++; } return c;",
    "for (int i = 0; i < n; i++) { int v = *x++; if (v < 30) *y++ = 0; else *y++ = v; } return 0;",
    "for (int k = 0; k < n; k++) { if (*x++ < 50) y[0] = 1; else y[0] = 255; y += 3; } return 1;",
    "int s = 0; for (int i = 0; i < n; i++) { if (x[0] > 10) { s += *x; x += 2; } "
    "else { s -= 3; x += 2; } } return s;",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_side_effects_in_expressions(body: str, tmp_path: Path) -> None:
    source = np.random.default_rng(len(body))
    text = f"int f(int n, const unsigned char *x, int *y) {{ {body} }}"
    calls = []
    for n in (0, 1, 2, 7, 40):
        x = source.integers(0, 100, 90).astype(np.uint8)
        calls.append((ctypes.c_int(n), x, np.zeros(130, np.int32)))
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "int a = 0; for (int i = 0; i < n; i++) y[i] = x[i] > 9 ? ++a : i;",  # may not be evaluated
        "int a = 0; for (int i = 0; i < n; i++) y[i] = x[i] > 9 && (a = i);",
    ],
)
def test_effects_that_depend_on_data_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"void f(int n, const unsigned char *x, int *y) {{ {body} }}")


ZERO_COLUMNS = """
int f(int n, const unsigned char *x, int *y)
{
    int block[16], *b = block;
    for (int i = 0; i < 8; i++, b++) {
        if (x[i] > 50) {
            b[0] = b[8] = n;
        } else {
            int p = x[i] + x[i + 8];
            b[8] = p + 1;
            b[0] = p * n;
        }
    }
    for (int i = 0; i < 16; i++) y[i] = block[i];
    return 0;
}
"""


def test_both_sides_of_a_choice_set_a_local_array(tmp_path: Path) -> None:
    x = np.random.default_rng(5).integers(0, 100, 90).astype(np.uint8)
    assert_as_gcc(ZERO_COLUMNS, "f", tmp_path, (ctypes.c_int(3), x, np.zeros(130, np.int32)))
