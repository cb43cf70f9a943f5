"""Loops that end with an exchange of two pointers, against gcc."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

HALVES = "for (int i = 1; i < n - 1; i++) v[i] = u[i - 1] + 3 * u[i + 1] - t;"
BODIES = {
    "parameters": f"for (int t = 0; t < k; t++) {{ {HALVES} int *h = u; u = v; v = h; }} u[0] = 7;",
    "locals": "int *a = u, *b = v, *h, t; for (t = 1; t <= k; ++t) { "
    "for (int i = 0; i < n; i++) b[i] = 3 * a[i] + t; h = b; b = a; a = h; } "
    "int s = 0; for (int i = 0; i < n; i++) s += a[i]; v[n] = s;",
    "unused": f"for (int t = 2; t < k; t++) {{ {HALVES} {{ int *h = u; u = v; v = h; }} }}",
    "twice": f"int *h; for (int t = 0; t < k; t++) {{ {HALVES} h = u; u = v; v = h; }} "
    f"for (int t = 3; t < n; t++) {{ {HALVES} do {{ h = u; u = v; v = h; }} while (0); }} v[1]++;",
}


@needs_gcc
@pytest.mark.parametrize("name", BODIES)
def test_the_exchange_is_that_of_gcc(name: str, tmp_path: Path) -> None:
    u = np.arange(9, dtype=np.int32) * 5 % 7
    calls = [
        (u, u[::-1].copy(), ctypes.c_int(n), ctypes.c_int(k)) for n in (0, 5) for k in range(5)
    ]
    text = f"void f(int *restrict u, int *restrict v, int n, int k) {{ {BODIES[name]} }}"
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "for (; n > 0; n--) for (int t = 0; t < k; t++) { v[n] = t; h = u; u = v; v = h; }",
        "for (int t = 0; t < k; t++) { v[t] = u[t]; if (u[t]) break; h = u; u = v; v = h; }",
        "for (int t = 0; t < k; t++) { v[t] = *u++; h = u; u = v; v = h; }",
        "for (int t = 0; t < k; t++) { k--; h = u; u = v; v = h; }",
        "for (int t = 0; t < k; t++) { v[t] = u[t]; h = u; u = v; v = h; } h[0] = 1;",
    ],
)
def test_other_exchanges_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"void f(int *u, int *v, int n, int k) {{ int *h; {body} }}")
