"""Questions whether pointers are null, as sizes that the entry computes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

SUM = """
typedef struct { int n; float *weight, *bias; } layer;
int weighted(const layer *l, const float *x, float *restrict y)
{
    int given = 0;
    if (!l || x == 0 || l->weight == (void *)0 || l->n <= 0) return -1;
    for (int i = 0; i < l->n; i++) {
        float s = l->bias ? l->bias[i] : 0.5f;
        if (l->bias != 0 && i > 2) s += 1;
        y[i] = l->weight[i] * x[i] + s;
    }
    if (l->bias) given = 1;
    return given;
}
"""


@needs_gcc
def test_pointers_of_parameters_and_of_structs(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((3, 9)).astype(np.float32)
    none = ctypes.c_size_t(0)
    calls = []
    for n, weight, bias in ((9, 1, 1), (9, 1, 0), (4, 0, 1), (0, 1, 1), (-3, 1, 0)):
        layer = np.zeros(3, np.int64)
        layer[0] = n & 0xFFFFFFFF
        layer[1:] = [numbers[0].ctypes.data * weight, numbers[1].ctypes.data * bias]
        calls.append((layer, numbers[2].copy(), np.zeros(9, np.float32)))
    calls += [(none, *calls[0][1:]), (calls[0][0], none, calls[0][2])]
    program = assert_as_gcc(SUM, "weighted", tmp_path, *calls)
    assert set(program.c_function().tested.values()) == {"l", "x", "l_weight", "l_bias"}


def test_a_pointer_that_moves_keeps_the_answer() -> None:
    text = "void f(int *p, int n) { if (!p) return; for (int i = 0; i < n; i++) *p++ = 0; }"
    assert parse_c(text).c_function().tested == {"p_given": "p"}


@pytest.mark.parametrize(
    "body", ["p = q; if (p) *p = 0;", "int *r = q + n; if (!r) n = 0; q[0] = n;"]
)
def test_other_pointers_are_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        parse_c(f"void f(int *p, int *q, int n) {{ {body} }}")


def test_a_member_that_is_only_tested_is_refused() -> None:
    text = "struct s { int *w; int k; }; void f(struct s *s, int *x) { if (s->w) x[0] = s->k; }"
    with pytest.raises(FrontendError):
        parse_c(text)
