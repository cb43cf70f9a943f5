"""memset, memcpy, memmove, sizeof and zero initializers."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = [
    "memset(A, 0, sizeof(double) * n * 4);",
    "memset(A, 0, n * sizeof(*A));",
    "memset(A[1], 0, sizeof(A[1]));",
    "double t[3][4]; memset(t, 0, sizeof t); t[1][2] = 5; for (int i = 0; i < 3; i++) "
    "for (int j = 0; j < 4; j++) A[0][j] += t[i][j];",
    "double t[300] = {0}; t[7] = 1; for (int i = 0; i < 300; i++) x[0] += t[i];",
    "memcpy(A, B, n * sizeof *B);",
    "memmove(x, x + 1, (n - 1) * sizeof(double));",
    "memmove(x + 1, x, (n - 1) * sizeof *x);",
    "memmove(&x[1], x, (n - 1) * sizeof(x[0])); memset(x, 0, sizeof *x);",
    "double t[6]; for (int i = 0; i < sizeof t / sizeof t[0]; i++) t[i] = i; x[0] = t[5];",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_whole_ranges(body: str, tmp_path: Path) -> None:
    text = "#include <string.h>\nvoid f(int n, double A[n][4], double B[n][4], double x[n])\n"
    generator = np.random.default_rng(len(body))
    calls = [
        (ctypes.c_int(n), generator.random((n, 4)), generator.random((n, 4)), generator.random(n))
        for n in (2, 3, 8)
    ]
    assert_as_gcc(f"{text}{{ {body} }}", "f", tmp_path, *calls)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("memset(x, 0, sizeof(x));", "these bytes are no number of double"),
        ("memset(A, 0, n * sizeof(double));", "these bytes are no number of rows of 4"),
        ("memset(x, 1, n * sizeof *x);", "memset of double to this value"),
        ("memcpy(x, x + 1, n * sizeof *x);", "of an array onto itself"),
        ("x[0] = sizeof(x);", "sizeof of this is not known"),
    ],
)
def test_what_is_no_range_of_elements(body: str, reason: str) -> None:
    with pytest.raises(FrontendError, match=reason):
        parse_c(f"void f(int n, double A[n][4], double x[n]) {{ {body} }}")
