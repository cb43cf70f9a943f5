"""Conditions on sizes that accesses imply, and that others make simple."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

BLUR = """
void blur(const unsigned char *src, int *dst, int w, int h, int stride, int r)
{
    for (int y = 0; y < h; y++) {
        const unsigned char *row = src + y * stride;
        int sum = 0;
        for (int x = -r; x <= r; x++)
            sum += row[x < 0 ? 0 : (x >= w ? w - 1 : x)];
        for (int x = 0; x < w; x++) {
            dst[y * stride + x] = sum;
            sum += row[x + r + 1 >= w ? w - 1 : x + r + 1] - row[x - r < 0 ? 0 : x - r];
        }
    }
}
"""


@needs_gcc
def test_a_condition_that_another_makes_simple(tmp_path: Path) -> None:
    source = np.random.default_rng(0)
    calls = []
    for w, h, stride, r in ((1, 1, 1, 0), (7, 3, 9, 2), (4, 2, 4, 9), (0, 0, 5, 1), (5, 2, 6, 0)):
        image = source.integers(0, 256, 90).astype(np.uint8)
        out = np.zeros(90, np.int32)
        calls.append((image, out, *map(ctypes.c_int, (w, h, stride, r))))
    program = assert_as_gcc(BLUR, "blur", tmp_path, *calls)
    assert {"w >= 1", "stride >= w"} <= {one.text for one in program.translation.assumptions}
