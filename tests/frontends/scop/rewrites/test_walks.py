"""Integers that walk through arrays."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

PACKED = """
int f(int n, const unsigned char *in, unsigned char *out)
{
    int o = 0;
    for (int i = 0; i + 2 < n; i += 3) {
        unsigned v = (in[i] << 16) | (in[i + 1] << 8) | in[i + 2];
        out[o++] = (v >> 18) & 63;
        out[o++] = v & 63;
        out[o] = o / 2;
        o += 2;
    }
    return o;
}
"""
DOWN = """
int f(int n, const unsigned char *in, unsigned char *out)
{
    long k = n;
    for (int i = n - 1; i >= 0; i -= 2) {
        out[--k] = in[i];
        if (k < 5) out[k] += 1;
    }
    return (int)k;
}
"""
NESTED = """
int f(int n, const unsigned char *in, unsigned char *out)
{
    int k = 2;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < 3; j++) out[k++ % 7] = in[i];
        k -= 1;
    }
    return k;
}
"""
WRAPPING = """
int f(int n, const unsigned char *in, unsigned char *out)
{
    unsigned char k = 250;
    for (int i = 0; i < n; i++) out[k++] = in[i];
    return k;
}
"""
BRANCHES = """
int f(int n, const unsigned char *in, unsigned char *out)
{
    if (n > 7) {
        for (int i = 0; i < n / 8; i++, in += 8, out += 4)
            for (int j = 0; j < 4; j++) out[j] = in[2 * j];
    } else {
        for (int i = 0; i < n; i++) *out++ = *in++;
    }
    return n;
}
"""


@needs_gcc
@pytest.mark.parametrize("text", [PACKED, DOWN, NESTED, WRAPPING, BRANCHES])
def test_counters_of_elements(text: str, tmp_path: Path) -> None:
    source = np.random.default_rng(0)
    calls = []
    for n in (0, 1, 2, 3, 4, 7, 60, -4):
        values, out = (source.integers(0, 256, 300, np.uint8) for _ in range(2))
        calls.append((ctypes.c_int(n), values, out))
    assert_as_gcc(text, "f", tmp_path, *calls)


def test_a_counted_element_has_an_affine_subscript() -> None:
    program = parse_c(PACKED)
    assert str(program.translation.shapes["out"].extents[0]) == "((4 * (n // 3)) - 1)"
    assert not program.unlimited
    assert not parse_c(BRANCHES).unlimited
