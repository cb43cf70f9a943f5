"""Helper functions that are inlined: compiled callers store what gcc's do."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

HELPERS = """
static int limit = 3;
static void add(float *p, const float *q, int n) { for (int i = 0; i < n; i++) p[i] += q[i]; }
static void walk(float *p, int n) { while (n--) *p++ *= 0.5f; }
static float total(const float *p, int n)
{ float s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }
static float first(const float *p, int n, float low)
{ if (n < 1) return low; for (int i = 0; i < n; i++) if (p[i] > low) return p[i]; return low; }
static void swap(float *a, float *b) { float t = *a; *a = *b; *b = t; }
static void twice(float *p, int n) { add(p, p, n); p[0] += n; }
static void fill(float p[], float v) { for (int i = 0; i < 3; i++) { p[i] = v; v += 1; } }
static void clear(float (*m)[4], int n) { for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++)
    m[i][j] = i; }
static void none(void) { }
"""
BODIES = [
    "for (int i = 0; i < n; i++) add(&m[i][0], y, 4);",
    "for (int i = 0; i < n; i++) { float s = total(m[i], 4); y[i % 4] = s; }",
    "for (int i = 0; i < n; i++) m[i][0] = total(m[i], 4) / (1 + total(y, 3));",
    "for (int i = 0; i < n; i++) walk(m[i], 4);",
    "for (int i = 0; i + 1 < n; i++) for (int j = 0; j < 4; j++) swap(&m[i][j], &m[i + 1][j]);",
    "for (int i = 0; i < n; i++) twice(m[i], 3); none();",
    "for (int n2 = 0; n2 < n; n2++) fill(m[n2], y[1]);",
    "clear(m, n); if (total(y, 2) > 0) y[0] = 9; else y[1] = 8;",
    "for (int i = 0; i < n; i++) y[0] += first(m[i], 4, y[1]);",
    "int i = 2; float s = 1; add(y + 1, m[0], i); s += total(y, i); y[0] = s;",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_calls_with_pointers(body: str, tmp_path: Path) -> None:
    text = f"{HELPERS}void f(int n, float m[n][4], float y[4]) {{ {body} }}"
    generator = np.random.default_rng(len(body))
    calls = [
        (ctypes.c_int(n), generator.random((n, 4), np.float32), generator.random(4, np.float32))
        for n in (1, 3, 8)
    ]
    assert_as_gcc(text, "f", tmp_path, *calls)


def test_a_helper_sees_the_variables_of_the_file_only() -> None:
    helper = "static int c = 3; static void h(int *p) { p[0] = c; }"
    parse_c(f"{helper} void f(int x[1]) {{ h(x); }}", "f")
    with pytest.raises(FrontendError, match="a call as a statement"):
        parse_c(f"{helper} void f(int x[1], int c) {{ h(x); }}", "f")


@pytest.mark.parametrize(
    "helper",
    [
        "static void h(int *p) { static int calls; calls++; p[0] = calls; }",
        "static void h(int *p, ...) { p[0] = 1; }",
        "static void h(int *p) { again: p[0]++; if (p[0] < 5) goto again; }",
        "void h(int *p);",
    ],
)
def test_calls_that_stay_are_refused(helper: str) -> None:
    with pytest.raises(FrontendError, match="a call as a statement"):
        parse_c(f"{helper} void f(int x[1]) {{ h(x); }}", "f")
