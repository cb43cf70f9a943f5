"""Loops that go on where another has ended, against gcc."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

SIGNED = (-9, -3, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 31)
TEXTS = {
    "sum4": """int sum4(const int *a, int n) {
        int s = 0, i = 0;
        for (; i + 3 < n; i += 4) s += a[i] + 2 * a[i + 1] + 3 * a[i + 2] + a[i + 3];
        for (; i < n; i++) s += 7 * a[i];
        return s + 1000 * i;
    }""",
    "tail": """unsigned long tail(int *a, unsigned long n) {
        unsigned long i;
        for (i = 0; i + 8 <= n; i += 8) { a[i] ^= 3; a[i + 7] += 5; }
        while (i < n) { a[i] += 2; i++; }
        return i;
    }""",
    "down": """int down(int *a, int n) {
        int i = n;
        for (; i >= 4; i -= 4) a[i - 1] += a[i - 4];
        for (; i > 0; i--) a[i - 1] -= 1;
        return i;
    }""",
    "nested": """int nested(int *a, int n) {
        int i = 0;
        for (; i <= n - 4; i += 4) { a[i] += 1; a[i + 3] = i; }
        if (n > 6) { for (; i < n; ++i) a[i] -= 9; }
        return n;
    }""",
    "last": """int last(int *a, int n) {
        int i;
        for (i = 2; i < n; i += 3) a[i] = i;
        a[0] = i;
        return i - 1;
    }""",
    "least": """int least(int *a, int n) {
        int i;
        for (i = 0; i < 5 && i + 1 < n; i += 2) a[i] += 3;
        for (; i < n; i++) a[i] -= i;
        return i;
    }""",
    "greatest": """long greatest(int *a, long n) {
        long i;
        for (i = n - 1; i >= 2 && n / 2 <= i; i -= 3) a[i] += 3;
        for (; i >= 0; i--) a[i] -= 5;
        return i;
    }""",
    "product": """int product(int *a, int n) {
        int i;
        for (i = 0; i + 1 < n / 5 * (n / 5); i += 2) a[i] = 1 + a[i + 1];
        for (; i < n; i++) a[i] = 2;
        return i;
    }""",
    "meeting": """void meeting(int *p, int n) {
        int i = 0, j = n - 1;
        while (i < j) { int t = p[i]; p[i] = p[j]; p[j] = t; i++; j--; }
    }""",
}


@needs_gcc
@pytest.mark.parametrize("name", TEXTS)
def test_the_remainder_begins_where_the_main_loop_ended(name: str, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    type_: Any = ctypes.c_ulong if "unsigned" in TEXTS[name] else ctypes.c_int
    sizes = [n for n in SIGNED if n >= 0 or type_ is ctypes.c_int]
    calls = [(random.integers(0, 99, 40).astype("i4"), type_(n)) for n in sizes]
    assert_as_gcc(TEXTS[name], name, tmp_path, *calls)


@pytest.mark.parametrize(
    "first",
    [
        "for (i = 1; i < n; i *= 4) { if (a[i] > 3) break; a[i] = 1; }",
        "for (i = 0; i < n; i += 2) { a[i] = 1; n = n - 1; }",
    ],
)
def test_a_value_that_is_not_known_is_refused(first: str) -> None:
    text = f"void f(int *a, int n) {{ int i; {first} for (; i < n; i++) a[i] = 2; }}"
    with pytest.raises(FrontendError):
        parse_c(text)
