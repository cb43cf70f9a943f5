"""Loops that count in other forms than ``for (i = 0; i < n; i++)``, against gcc."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

SIZES = (0, 1, 2, 3, 4, 7, 16, 17, 40)
BODIES = {
    "step first": "int r = 1; while (n > 0) { n--; r = r * k + x[n]; } return r;",
    "step in the condition": "int r = 1; while (--n >= 0) r = r * k + x[n]; return r;",
    "step in the middle": "int i = 0; while (i < n) { y[i] = 1; i++; y[i] += x[i]; } return 0;",
    "parameter": "int r = 1; for (; n > 0; n--) r = r * k + x[n]; return r;",
    "two at a time": "int r = 0; while (n > 1) { r += *x++; n -= 2; } return n == 1 ? r + *x : r;",
    "endless, left first": "int i = 0; for (;;) { if (i >= n) break; y[i] = x[i]; i++; } return i;",
    "endless, left last": "int i = 0; while (1) { y[i] = x[i]; if (++i >= n) break; } return i;",
    "meeting": "int j = n - 1, i = 1; while (i < j) { int t = y[i]; y[i++] = y[j]; y[j--] = t; }"
    "return 0;",
    "meeting parameters": "while (k < n) { int t = y[k]; y[k] = y[n]; y[n] = t; k++; n--; }"
    "return 0;",
    "comma in the step": "int s = 0; for (int i = 0; i < n; s += x[i], i++) y[i] = s; return s;",
    "comma after the step": "int s = 0, i; for (i = 0; i < n; i++, s += x[i]) y[i] = s; return s;",
    "comma beside a condition": "int o = 0; for (int i = 0; i < n && o < k; i += 2, ++o)"
    "y[o] = x[i]; return o;",
    "once, left first": "int i = 0; do { if (i >= n) break; y[i] = x[i]; i++; } while (i < n);"
    "return i;",
    "comma in the start": "int i, s; for (s = k, i = 1; i <= n; i++) s += x[i]; return s;",
    "declared beside": "int s = 0; for (int i = 0, m = 5; i < n; i++) { s += x[i] * m; m += 3; }"
    "return s;",
    "chain of starts": "int s = 0, i, m; for (i = m = 0; i < n; i++) s += x[m++]; return s + m;",
    "pointers, left": "for (; n--; x++, y++) if (*x != *y) return *x - *y; return 0;",
    "pointers, steps last": "while (n-- > 0) { if (*x != *y) return *x - *y; x++; y++; } return 0;",
    "left with another value": "int i, s; for (i = 0, s = 5; i < n; i++, s += 2)"
    " if (x[i] > k) break; return s;",
    "left at a pointer": "const int *p = x; for (int i = 0; i < n; i++, p++) if (*p > k) break;"
    "return *p;",
    "end before a change": "const int *e = x + n; n = 2; while (x < e) y[0] += *x++; return n;",
    "counter as a value": "while (n > 0) { *y++ = *x++ + n; n--; } return n;",
    "value after": "int i, j; for (i = 0, j = 1; i < n; i++, j++) y[i] = x[j]; y[0] = j; return i;",
}


@needs_gcc
@pytest.mark.parametrize("name", BODIES)
def test_a_loop_that_counts(name: str, tmp_path: Path) -> None:
    x = np.arange(42, dtype=np.int32) * 7 % 11
    calls = [
        (x, x[::-1].copy() if odd else x.copy(), ctypes.c_int(n), ctypes.c_int(k))
        for n in SIZES
        for odd, k in ((0, 1), (1, 9))
    ]
    text = f"int f(const int *x, int *y, int n, int k) {{ {BODIES[name]} }}"
    assert_as_gcc(text, "f", tmp_path, *calls)


@needs_gcc
def test_an_unsigned_pair_meets(tmp_path: Path) -> None:
    text = (
        "void f(unsigned char *b, unsigned long n) { if (n < 2) return; unsigned long i = 0, "
        "j = n - 1; while (i < j) { unsigned char t = b[i]; b[i++] = b[j]; b[j--] = t; } }"
    ).replace("unsigned long", "size_t")
    text = f"typedef unsigned long size_t; {text}"
    calls = [(np.arange(41, dtype=np.uint8), ctypes.c_size_t(n)) for n in SIZES]
    assert_as_gcc(text, "f", tmp_path, *calls)


@pytest.mark.parametrize(
    "body",
    [
        "int i = 0; while (1) { if (i >= n) break; if (x[i]) continue; i++; }",
        "int i = 0; while (i < n) { if (x[i]) i++; y[i] = 1; i++; }",
        "int i = 0; while (1) { y[i] = 1; i++; }",
        "int i = 0; while (1) { if (x[i] > 3) break; i++; }",
    ],
)
def test_loops_that_do_not_count_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"void f(const int *x, int *y, int n) {{ {body} }}")


STRUCTS = {
    "end in the header": "for (const pair *e = p + n; p != e; ++p) s += p->a * p->b; return s;",
    "end before": "const pair *e = p + n; for (; p < e; p++) s += p->a; return s;",
    "pointer in the header": "for (const pair *q = p; q < p + n; q++) if (q->b > 4) s += q->a;"
    "return s;",
    "pointer from outside": "const pair *q; for (q = p; q != p + n; ++q) s ^= q->b; return s;",
}


@needs_gcc
@pytest.mark.parametrize("name", STRUCTS)
def test_pointers_to_structs_walk(name: str, tmp_path: Path) -> None:
    text = (
        "typedef struct { int a; short b, c; } pair; "
        f"int f(const pair *p, int n) {{ int s = 0; {STRUCTS[name]} }}"
    )
    calls = [(np.arange(84, dtype=np.int32) * 40503, ctypes.c_int(n)) for n in SIZES]
    assert_as_gcc(text, "f", tmp_path, *calls)
