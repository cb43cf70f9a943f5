"""Sizes that are computed at the entry: products, quotients and row lengths."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BODIES = [
    "for (int i = 0; i < w * h; i++) y[i] = x[i] + i;",
    "int count = w * h; for (int i = 0; i < count; i++) y[i] = x[i] * 2;",
    "int half = w / 2; for (int r = 0; r < h; r++) for (int c = 0; c < half; c++) "
    "y[r * half + c] = x[r * w + 2 * c];",
    "int v = w - 2; for (int r = 0; r < h; r++) for (int c = 0; c < v; c++) "
    "y[r * v + c] = x[r * w + c] + x[r * w + c + 2];",
    "for (int r = 0; r < h / 2; r++) for (int c = 0; c < w / 2; c++) "
    "y[r * (w / 2) + c] = x[2 * r * w + 2 * c];",
    "if (w * h > 30) for (int i = 0; i < w; i++) y[i] = x[i];",
    "for (int i = 0; i < w * h - 1; i += 2) y[i] = x[i + 1];",
    "for (int i = 0; i < w; i++) y[(i + 1) % w] = x[(i - 1 + w) % w];",
]


@needs_gcc
@pytest.mark.parametrize("body", BODIES)
def test_bounds_and_row_lengths(body: str, tmp_path: Path) -> None:
    text = f"void f(int w, int h, const int *x, int *y) {{ {body} }}"
    generator = np.random.default_rng(1)
    x, y = (generator.integers(0, 90, 200).astype(np.int32) for _ in range(2))
    sizes = [(1, 1), (2, 3), (7, 4), (8, 5), (5, 9), (3, 0)]
    assert_as_gcc(
        text, "f", tmp_path, *((ctypes.c_int(w), ctypes.c_int(h), x, y) for w, h in sizes)
    )


def test_what_is_affine_gets_no_name() -> None:
    text = "void f(int w, double x[2 * w + 1]) { for (int i = 0; i < 2 * w + 1; i++) x[i] = 0; }"
    assert parse_c(text).kernel.parameters == ("w",)


def test_a_product_is_a_parameter() -> None:
    text = "void f(int w, int h, double *x) { for (int i = 0; i < w * h; i++) x[i] = 0; }"
    assert parse_c(text).kernel.parameters == ("w", "h", "w_h")


@needs_gcc
def test_products_with_members_of_structs_are_told_apart(tmp_path: Path) -> None:
    """They had one text, because the names of members were left out of it."""
    text = """typedef struct { int w, h; } size;
    void fill(const size *s, float *a, float *b, int k) {
        for (int i = 0; i < s->w * k; i++) a[i] = 1;
        for (int i = 0; i < s->h * k; i++) b[i] = 2;
        for (int i = 0; i < s->w * s->h; i++) a[i] += b[i];
    }"""
    sizes = [np.array(one, "i4") for one in ((3, 5), (5, 3), (0, 4))]
    arrays = [np.zeros(60, "f4"), np.zeros(60, "f4")]
    calls = [(size, *arrays, ctypes.c_int(k)) for size in sizes for k in (0, 1, 6)]
    program = assert_as_gcc(text, "fill", tmp_path, *calls)
    assert len({"s_w_k", "s_h_k", "s_w_s_h"} & {*program.kernel.parameters}) == 3
