"""Loops written out by hand, with a loop for the last elements."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

TEXT = (
    "int f(int n, const int *restrict x, int *restrict y) {{ int i = 0, s = 1; {} return i + s; }}"
)
ROLLED = [
    "for (; i <= n - 4; i += 4) { y[i] = x[i] / 3; y[i + 1] = x[i + 1] / 3; "
    "y[i + 2] = x[i + 2] / 3; y[i + 3] = x[i + 3] / 3; } for (; i < n; i++) y[i] = x[i] / 3;",
    "for (i = 1; i + 1 < n; i += 2) { int a = x[2 * i - 2]; y[i] = a * i; int b = x[2 * i]; "
    "y[i + 1] = b * (i + 1); } for (; i < n; ++i) { int a = x[2 * (i - 1)]; y[i] = a * i; }",
    "for (; i < n - 2; i += 2) { s += x[i] * s; s += x[i + 1] * s; } "
    "for (; i <= n - 1; i++) s += x[i] * s;",
    "for (; i < n - 1; i += 2) { *y++ = *x++; *y++ = *x++; } for (; i < n; i++) *y++ = *x++;",
]
OTHER = [  # another element, a value of the first element, other ends, another order
    "for (; i <= n - 2; i += 2) { y[i] = x[i]; y[i + 1] = x[i]; } for (; i < n; i++) y[i] = x[i];",
    "for (; i <= n - 2; i += 2) { int a = x[i]; y[i] = a; int b = x[i + 1]; y[i + 1] = a; s = b; } "
    "for (; i < n; i++) { int a = x[i]; y[i] = a; }",
    "for (; i <= n - 1; i += 2) { y[i] = x[i]; y[i + 1] = x[i + 1]; } "
    "for (; i < n; i++) y[i] = x[i];",
    "for (; i <= n - 2; i += 2) { y[i + 1] = s += x[i + 1]; y[i] = s += x[i]; } "
    "for (; i < n; i++) y[i] = s += x[i];",
    "for (; i <= n - 2; i += 2) { y[i] = i; y[i + 1] = i; } for (; i < n; i++) y[i] = i;",
]


def _check(body: str, folder: Path) -> None:
    source = np.random.default_rng(len(body))
    x, y = (source.integers(-40, 40, 90).astype(np.int32) for _ in range(2))
    calls = [(ctypes.c_int(n), x, y) for n in (-3, 0, 1, 2, 3, 4, 7, 8, 17)]
    assert_as_gcc(TEXT.format(body), "f", folder, *calls)


@needs_gcc
@pytest.mark.parametrize("body", ROLLED)
def test_loops_that_repeat_their_statements_are_one_loop(body: str, tmp_path: Path) -> None:
    _check(body, tmp_path)
    whole, once = (
        parse_c(TEXT.format(one)).kernel.statements for one in (body, body[body.rindex("for") :])
    )
    assert len(whole) == len(once)


@needs_gcc
@pytest.mark.parametrize("body", OTHER)
def test_other_loops_stay(body: str, tmp_path: Path) -> None:
    _check(body, tmp_path)
