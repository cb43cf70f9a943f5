"""Early exits: compiled functions return and store what gcc's do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = [
    "if (n < 3) return -1; for (int i = 0; i < n; i++) x[i] += 1; return n;",
    "if (n == 1) { x[0] = 7; return 1; } else if (k < 0) return 2; x[0] = k; return 3;",
    "if (x[0] > k) return 1; x[0] = 4; if (k > 3) { x[0] += 1; if (k > 5) return 2; } return 3;",
    "int s = 0; for (int i = 0; i < n; i++) { s += x[i]; if (s > k) break; x[i] = s; } return s;",
    "for (int i = 0; i < n; i++) if (x[i] == k) return i; return -1;",
    "int i; for (i = 0; i < n; i++) if (x[i] > k) break; return i;",
    "int i; for (i = 2; i < n; i++) { if (x[i] > k) break; x[i] = 0; } x[0] = i; return i + 1;",
    "int i; for (i = 0; i < n; i += 4) { if (x[i] > k) break; x[i] = 1; } return i;",
    "int i; for (i = n - 1; i > 2; i -= 3) { if (x[i] == k) break; x[i]++; } return i;",
    "int i = 0; for (; i < n; i++) { if (x[i] == k) break; x[i]++; } return i;",
    "int i; for (i = n - 1; i >= 0; i--) { if (x[i] > k) break; x[i] = 0; } return i;",
    "int i; for (i = n; i > 2; --i) if (x[i - 1] > k) break; x[0] = i; return i;",
    "int i; for (i = 0; i <= n; i++) if (x[i] > k) break; return i;",
    "int c = 0; for (int i = 0; i < n; i++) { if (x[i] < 0) continue; if (x[i] > k) break; c++; }"
    " return c;",
    "int c = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < n; j++) { if (x[j] > x[i] + k) "
    "break; c += 1; } if (c > 40) break; x[i] = c; } return c;",
    "for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) { if (x[j] == x[i]) return j; "
    "x[j]++; } x[i] -= 2; } return -7;",
    "if (k) for (int i = 0; i < n; i++) if (x[i] == 1) { x[i] = 5; break; } x[0] += 3; return 0;",
    "for (int i = 0; i < n; i++) { if (x[i] == 0) break; x[i] = 100 / x[i]; } return 1;",
    "switch (k) { case 1: return 5; case 2: x[0] = 1; break; default: x[0] = 2; } return x[0];",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_functions_that_leave_early(body: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(len(body))
    calls = [
        (ctypes.c_int(n), ctypes.c_int(k), generator.integers(-2, 9, n + 1).astype(np.int32))
        for n in (1, 2, 5, 13)
        for k in (-3, 0, 1, 4, 6, 99)
    ]
    assert_as_gcc(f"int f(int n, int k, int x[n + 1]) {{ {body} }}", "f", tmp_path, *calls)


def test_a_value_that_is_not_always_returned_is_refused() -> None:
    with pytest.raises(FrontendError, match="return inside the region"):
        parse_c("int f(int n, int x[n]) { if (n > 2) return 1; x[0] = 3; }")


def test_a_search_needs_no_declared_extent() -> None:
    text = (
        "int f(int n, const int {}) {{ for (int i = 0; i < n; i++) if (x[i]) return i; return 0; }}"
    )
    known = parse_c(text.format("x[n]")).kernel.arrays["x"]
    inferred = parse_c(text.format("*x")).kernel.arrays["x"]
    assert known.shape == inferred.shape
    assert inferred.guarded
    assert not known.guarded


@needs_gcc
def test_reads_beyond_an_exit_do_not_happen(tmp_path: Path) -> None:
    text = (
        "int f(int n, const int *x, int m) { int s = 0; "
        "for (int i = 0; i < n; i++) { if (s > m) break; s += x[i]; } return s; }"
    )
    page = np.full(4, 9, np.int32)
    calls = [(ctypes.c_int(n), page, ctypes.c_int(20)) for n in (0, 1, 3, 1 << 22)]
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "int i; for (i = 0; i != n; i++) if (x[i] > k) break; return i;",
        "int i = 0; if (n > 3) { for (i = 0; i < n; i++) if (x[i] > k) break; } return i;",
        "int i, s = 0; for (int j = 0; j < 3; j++) { if (j) s += i; for (i = j; i < n; i++) "
        "if (x[i] > k) break; } return s;",
    ],
)
def test_where_a_loop_stopped_is_not_lost(body: str) -> None:
    """The loop counts on after it has been left; these values of its variables were wrong."""
    with pytest.raises(FrontendError):
        parse_c(f"int f(int n, int k, int x[n + 1]) {{ {body} }}")
