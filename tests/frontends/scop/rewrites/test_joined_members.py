"""Arrays of structs of numbers of one type are one array each, and run as gcc compiles them."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

STRUCT = "typedef struct { struct { short x, y; } at; short m[2][2]; } tile;\n"


def _ranks(text: str) -> dict[str, int]:
    """The arrays of a function with their number of dimensions."""
    return {name: len(array.shape) for name, array in parse_c(text, "f").kernel.arrays.items()}


@needs_gcc
@pytest.mark.parametrize(
    ("body", "joined"),
    [
        ("for (int i = 0; i < n; i++) { t[i].at.y += t[i].m[1][0]; t[i].m[0][1] = i; }", True),
        ("for (int i = 1; i < n; i++) t[i] = t[i - 1];", True),
        (
            "for (unsigned long i = 0; i < (unsigned long)n; i++) t[i].at.x = t[i].m[i % 2][1];",
            True,
        ),
        ("for (int i = 0; i + 1 < n; i++) { tile *q = t + i; (q + 1)->at.x -= q->at.y; }", True),
        ("for (int i = 0; i < n; i++) for (int k = 0; k < 2; k++) t[i].m[k][0] = k;", True),
        ("for (int i = 0; i < n; i++) t[i].at.x = t[s[i] & 1].at.y;", False),
        ("for (int i = 0; i < n; i++) if (t[i].at.x > 0) t[i].at.y = 1;", True),
    ],
)
def test_structs_of_one_type(body: str, joined: bool, tmp_path: Path) -> None:
    text = f"{STRUCT}void f(int n, tile *t, const unsigned char *s)\n{{ {body} }}"
    generator = np.random.default_rng(len(body))
    calls = [
        (
            ctypes.c_int(n),
            generator.integers(-99, 99, max(6 * n, 12)).astype(np.int16),
            generator.integers(0, 99, max(n, 1)).astype(np.uint8),
        )
        for n in (0, 1, 2, 40)
    ]
    program = assert_as_gcc(text, "f", tmp_path, *calls[2 * (not joined) :])
    assert ("t_members" in program.kernel.arrays) == joined


def test_rows_of_an_image_of_structs() -> None:
    text = """typedef struct { unsigned char r, g, b, a; } rgba;
    void f(const rgba *x, rgba *y, int w, int h)
    { for (int j = 0; j < h; j++) for (int i = 0; i < w; i++) {
        y[j * w + i].r = x[j * w + i].b; y[j * w + i].b = x[j * w + i].r; } }"""
    assert _ranks(text) == {"x_members": 2, "y_members": 2}


def test_rows_of_a_halved_image() -> None:
    """Every second row and column, whose distances do not divide those of the rows between."""
    text = """void f(const float *x, float *y, int w, int h, int c)
    { for (int j = 0; j < h / 2; j++) for (int i = 0; i < w / 2; i++) for (int k = 0; k < c; k++)
        y[(j * (w / 2) + i) * c + k] = x[(2 * j * w + 2 * i) * c + k]
                                     + x[((2 * j + 1) * w + 2 * i + 1) * c + k]; }"""
    assert _ranks(text) == {"x": 3, "y": 3}
