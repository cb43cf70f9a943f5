"""Sizes that are computed at the entry: products, quotients and row lengths."""

from __future__ import annotations

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, compiled_by_gcc, needs_gcc

BODIES = [
    "for (int i = 0; i < w * h; i++) y[i] = x[i] + i;",
    "int count = w * h; for (int i = 0; i < count; i++) y[i] = x[i] * 2;",
    "int half = w / 2; for (int r = 0; r < h; r++) for (int c = 0; c < half; c++) "
    "y[r * half + c] = x[r * w + 2 * c];",
    "int v = w - 2; for (int r = 0; r < h; r++) for (int c = 0; c < v; c++) "
    "y[r * v + c] = x[r * w + c] + x[r * w + c + 2];",
    "for (int r = 0; r < h / 2; r++) for (int c = 0; c < w / 2; c++) "
    "y[r * (w / 2) + c] = x[2 * r * w + 2 * c];",
    "for (int r = 0; r < h >> 1; r++) for (int c = 0; c < w; c++) "
    "y[r * (w >> 1) + (c >> 1)] = x[r * w + c];",
    "for (int r = 0; r < h; r++) for (int c = 0; c < w >> 1; c++) "
    "y[r * ((w + 1) >> 1) + c] = x[(r >> 1) * (w << 1) + c];",
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


@needs_gcc
@pytest.mark.parametrize(
    "condition",
    [
        "size_t all = (size_t)n * k; if (m > 3 && 5 > all) return -1;",
        "if ((size_t)m > (size_t)n * k) return -1;",
        "if (5 > (size_t)n) return -1;",
        "size_t all = (size_t)n * k; x[0] = all > 5;",
    ],
)
def test_a_negative_size_that_is_cast_to_size_t_is_large(condition: str, tmp_path: Path) -> None:
    text = (
        "#include <stddef.h>\nint f(int n, int k, long m, int *x)\n"
        f"{{ {condition} for (long i = 0; i < m; i++) x[i] += 1; return 2; }}"
    )
    source, rewritten = tmp_path / "f.c", tmp_path / "rewritten.c"
    source.write_text(text)
    result = CliRunner().invoke(main, ["rewrite", str(source), "-o", str(rewritten)])
    assert result.exit_code == 0, result.output
    libraries = [compiled_by_gcc(path, tmp_path) for path in (source, rewritten)]
    for n, k, m in itertools.product((-3, -1, 0, 2, 9), (1, 3), (1, 9)):
        found = []
        for library in libraries:
            x = np.arange(9, dtype=np.int32)
            returned = library.f(n, k, ctypes.c_long(m), ctypes.c_void_p(x.ctypes.data))
            found.append((returned, x.tolist()))
        assert found[0] == found[1], (n, k, m)
