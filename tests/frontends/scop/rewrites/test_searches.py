"""Searches of arrays of unknown extent: no element is read that the program does not reach."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

SEARCHES = [
    "for (int i = 0; i < n; i++) if (x[i] == k) return i; return -1;",
    "int i = 0; while (i < n && x[i] < k) i++; return i;",
    "int s = k; for (int i = 0; i < n && s * s < 99; i++) s += x[i]; return s;",
    "int i, s = 0; for (i = 0; s < k && i < n; i++) { s += x[i]; } return s + i;",
    "int i; for (i = m; i < n; i++) if (x[i] + x[n - 1 - i] > k) break; return i;",
    "int s = 0; for (int i = 0; i < n; i++) { s += x[i]; if (s > k) return i; s++; } return -s;",
    "int s = 0; for (int i = 0; i < n; i++) { if (x[i] > k) continue; s++; if (s > 3) break; } "
    "return s;",
]


@needs_gcc
@pytest.mark.parametrize("body", SEARCHES)
def test_searches_find_what_gcc_finds(body: str, tmp_path: Path) -> None:
    calls = [
        (np.arange(n, dtype=np.int32) * 5 % 7, ctypes.c_int(n), ctypes.c_int(m), ctypes.c_int(k))
        for n, m in ((0, 0), (1, 0), (5, 0), (9, 2), (9, 9))
        for k in (-1, 3, 50)
    ]
    assert_as_gcc(f"int f(const int *x, int n, int m, int k) {{ {body} }}", "f", tmp_path, *calls)


@needs_gcc
def test_elements_after_the_exit_are_not_read(tmp_path: Path) -> None:
    body = "for (long i = 0; i < n; i++) if (!x[i]) return i; return 0;"
    text = f"int f(const int *x, long n) {{ {body} }}"
    page = np.zeros(1, np.int32)
    assert_as_gcc(text, "f", tmp_path, (page, ctypes.c_long(1 << 22)))


@needs_gcc
@pytest.mark.parametrize(
    "body",
    [
        # The second loop does not start if the first one returns.
        "for (int i = 0; i < n; i++) if (x[i]) return 1; "
        "for (int i = 0; i < n; i++) if (y[i]) return 2; return 0;",
        # The inner loop may have no iteration before the outer one is left.
        "for (int i = 0; i < n; i++) { if (x[i]) return 1; "
        "for (int j = 0; j < i; j++) if (y[j]) return 2; } return 0;",
        "for (int i = 0; i < n; i++) { if (i > 2 && y[i]) return 1; if (x[i]) return 2; } "
        "return 0;",
    ],
)
@needs_gcc
def test_arrays_that_may_not_exist_are_not_read(body: str, tmp_path: Path) -> None:
    text = f"int f(const int *x, const int *y, int n) {{ {body} }}"
    x = np.array([5, 3, 2, 1, 0, 7], np.int32)
    calls = [(x, ctypes.c_long(0), ctypes.c_int(n)) for n in (0, 1, 6)]
    calls += [(0 * x, one * x, ctypes.c_int(6)) for one in (0, 1)]
    assert_as_gcc(text, "f", tmp_path, *calls)
