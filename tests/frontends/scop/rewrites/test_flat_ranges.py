"""Ranges of w * h elements of arrays that other accesses read by rows."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

ROWS = "for (int r = 0; r < h; r++) for (int c = 0; c < w; c++) y[r * w + c] += x[r * w + c];"
BY_ROWS = [
    f"memset(y, 0, (size_t)h * w * sizeof(int)); {ROWS}",
    f"memcpy(&y[0], x, h * w * sizeof(int)); {ROWS}",
    f"for (int i = 0; i < w * h; i++) y[i] = 3; {ROWS}",
    f"{ROWS} const int size = h * w; for (int i = 0; i < size; i++) y[i] = 2 * x[i] - y[i];",
    f"size_t size = (size_t)w * h; {ROWS} for (size_t i = 0; i < size; i++) y[i] *= 2;",
    f"int i; for (i = 0; i < w * h; ++i) {{ int t = x[i]; y[i] = t < 50 ? t : 50; }} {ROWS}",
    "memset(y, 0, w * w * 4); for (int i = 0; i < w; i++) y[i * w + i] = 1;",
    "memset(y, 0, 2 * w * h * sizeof(int)); for (int r = 0; r < h; r++) "
    "for (int c = 0; c < 2 * w; c++) y[2 * r * w + c] = x[r * w + c / 2];",
    "for (int i = 0; i < w * h; i++) y[i] = x[2 * i] + x[2 * i + 1]; "
    "for (int r = 0; r < h; r++) for (int c = 0; c < w; c++) y[r * w + c] -= x[(r * w + c) * 2];",
    "for (int i = 0; i < w * h * w; i++) y[i] = 2; for (int p = 0; p < w; p++) for (int r = 1; "
    "r < h; r++) for (int c = 0; c < w; c++) y[(p * h + r) * w + c] = x[r * w + c];",
    "for (int i = 0; i < w * h; i++) y[i] = 3; for (int r = 0; r < h; r++, y += w) "
    "for (int c = 0; c < w; c++) y[c] += c;",
    "memset(y, 0, 3 * w * h * 4); for (int p = 0; p < 3; p++) for (int r = 0; r < h; r++) "
    "for (int c = 0; c < w; c++) y[(p * h + r) * w + c] = x[r * w + c];",
]  # fmt: skip
FLAT = [  # other numbers of elements than whole rows, and loops that use the counter otherwise
    f"int i; for (i = 0; i < w * h; ++i) y[i] = -i; {ROWS}",
    f"memset(y, 0, w * h * 8); {ROWS}",
    f"for (int i = 0; i < w * h; i++) y[i] = i % 7; {ROWS}",
    f"int i; for (i = 0; i < w * h; i++) y[i] = 3; y[0] = i; {ROWS}",
    f"for (int i = 0; i < w * h; i++) {{ if (x[i] > 80) break; y[i] = 3; }} {ROWS}",
]
TEXT = "#include <string.h>\nvoid f(int w, int h, const int *restrict x, int *restrict y) {{ {} }}"
PROMISE = "#pragma polysched assume w >= 0 && h >= 0\n"
SIZES = [(1, 1), (2, 3), (5, 4), (4, 7), (3, 0), (0, 3)]


def _calls(sizes: list[tuple[int, int]]) -> list[tuple[object, ...]]:
    generator = np.random.default_rng(1)
    x, y = (generator.integers(0, 90, 200).astype(np.int32) for _ in range(2))
    return [(ctypes.c_int(w), ctypes.c_int(h), x, y) for w, h in sizes]


@needs_gcc
@pytest.mark.parametrize("body", BY_ROWS)
def test_ranges_become_rows(body: str, tmp_path: Path) -> None:
    text = PROMISE + TEXT.format(body)
    assert len(parse_c(text).kernel.arrays["y"].shape) > 1
    assert_as_gcc(text, "f", tmp_path, *_calls(SIZES))


@needs_gcc
@pytest.mark.parametrize("body", FLAT)
def test_other_ranges_stay_exact(body: str, tmp_path: Path) -> None:
    assert_as_gcc(PROMISE + TEXT.format(body), "f", tmp_path, *_calls(SIZES))


@needs_gcc
@pytest.mark.parametrize("body", [BY_ROWS[0], BY_ROWS[2]])
def test_negative_sizes_run_as_written(body: str, tmp_path: Path) -> None:
    """Their product is positive, so C fills; they are excluded with the reason."""
    text = TEXT.format(body)
    sizes = [(-3, -5), (2, 3), *([] if "memset" in body else [(-1, 4), (4, -1)])]
    assert_as_gcc(text, "f", tmp_path, *_calls(sizes))
    (note,) = [one for one in parse_c(text).notes() if one.startswith("assumed: ")]
    assert re.match("assumed: [wh] >= 0, for otherwise '.*' may multiply negative sizes, ", note)


def test_unsigned_products_must_not_wrap_around() -> None:
    text = TEXT.replace("int w, int h", "unsigned w, unsigned h").format(BY_ROWS[0])
    notes = parse_c(text).notes()
    assert any("assumed: h <= 32767, for otherwise '" in note for note in notes)
    assert any("assumed: w <= 32767, for otherwise '" in note for note in notes)
