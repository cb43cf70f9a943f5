"""Integers that a function sets in front of its loops, against gcc."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = {
    "clamp": "if (n > 20) n = 20; for (int i = 0; i < n; i++) s += x[i]; return s;",
    "ternary": "n = n < 20 ? n : 20; for (int i = 0; i < n; i++) s += x[i]; return s;",
    "window": "int lo = k - 2, hi = k + 2; if (lo < 0) lo = 0; if (hi >= n) hi = n - 1;"
    "for (int i = lo; i <= hi; i++) s += x[i]; return s;",
    "both sides": "if (k > n) { k = n; } else if (k < 0) k = 0;"
    "for (int i = k; i < n; i++) s += x[i]; n -= k; for (int i = 0; i < n; i++) s ^= x[i];"
    "return s + n;",
    "default stride": "if (k <= 0) k = n; for (int i = 0; i < 2; i++) for (int j = 0; j < n; j++)"
    " s += (i + 1) * x[i * k + j]; return s;",
    "rounded down": "int m = n & ~3, i; for (i = 0; i < m; i += 4) s += x[i] + 2 * x[i + 3];"
    "for (; i < n; i++) s += 5 * x[i]; return s;",
}


@needs_gcc
@pytest.mark.parametrize("name", BODIES)
def test_a_size_that_the_function_sets(name: str, tmp_path: Path) -> None:
    x = np.arange(90, dtype=np.int32) * 7 % 11
    calls = [
        (x, ctypes.c_int(n), ctypes.c_int(k))
        for n in (0, 1, 2, 3, 4, 7, 19, 20, 21, 40)
        for k in (-3, 0, 1, n // 2, n, n + 5)
    ]
    text = f"int f(const int *x, int n, int k) {{ int s = 0; {BODIES[name]} }}"
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "int m = x[0]; if (m > 4) m = 4;",  # data
        "int m = n; for (int i = 0; i < 2; i++) m--;",  # a loop changes it
        "int m = n; if (k > 2) { m = 4; n = m; }",  # uses what it has just set
        "int m = n, *p = &m; if (k > 2) m = 4; p[0] = 1;",
    ],
)
def test_other_integers_stay_data(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(
            f"void f(int *restrict x, int n, int k) {{ {body} "
            "for (int i = 0; i < m; i++) x[i]++; }"
        )
