"""Subscripts that depend on data go through index variables."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import Promises, parse_c
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Constant
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc
from tests.support.effort import covering

BODIES = [
    "for (int i = 0; i < n; i++) y[i] = t[(k[i] ^ i) & 7];",
    "for (int i = 0; i < n; i++) t[k[i]] += y[i];",
    "int at = 0; for (int i = 0; i < n; i++) { y[i] = t[at]; t[at] = i; at = (at + 3) % 8; }",
    "for (int i = 0; i < n; i++) y[k[k[i]]] = y[k[i]] + t[k[i]];",
    "for (int i = 0; i < n; i++) { int c = i * i % 8; t[c] = t[7 - c] + k[i]; }",
    "for (int i = 0; i < n; i++) y[i * i % n] = i;",
    "unsigned c = 5; for (int i = 0; i < n; i++) c = t[(c ^ k[i]) & 7] ^ c >> 3; y[0] = c;",
]


@needs_gcc
@covering(1, body=BODIES, qualifier=["restrict", ""])
def test_gathers_and_scatters(body: str, qualifier: str, tmp_path: Path) -> None:
    text = f"void f(int n, int *{qualifier} y, const int *{qualifier} k, int t[8]) {{ {body} }}"
    generator = np.random.default_rng(2)
    memory = generator.integers(0, 8, 40).astype(np.int32)
    table = generator.integers(0, 99, 8).astype(np.int32)
    calls = [(ctypes.c_int(n), memory[:20], memory[20:], table) for n in (1, 2, 8)]
    if not qualifier:  # overlapping
        calls += [(ctypes.c_int(8), memory[1:9], memory[:8], memory[4:12])]
        calls = calls[:3] if "k[k[" in body else calls
    assert_as_gcc(text, "f", tmp_path, *calls)


def test_an_array_of_unknown_extent_may_overlap_anything() -> None:
    text = "void f(int n, int *y, const int *x, const int *k) { for (int i = 0; i < n; i++) " \
        "y[i] = x[k[i]]; }"  # fmt: skip
    program = parse_c(text)
    assert program.unlimited == ("x",)
    assert program.entry_condition == program.c_function().fallback.condition  # type: ignore[union-attr]
    assert isinstance(program.entry_condition, Constant)
    assert not program.entry_condition.value
    assert any(note.startswith("runs as written at each call") for note in program.notes())
    assert parse_c(text, promises=Promises(no_alias=True)).unlimited == ()


def test_the_index_is_a_temporary_of_promised_values() -> None:
    kernel = parse_c("void f(int k[1], int x[restrict 9]) { x[k[0]] = 1; }").kernel
    (index,) = [one for one in kernel.arrays.values() if one.role is Role.TEMPORARY]
    assert index.values == (Constant(0), Constant(9))


def test_a_pointer_into_a_row_may_pass_its_end() -> None:
    with pytest.raises(FrontendError):
        parse_c("void f(int k[1], int x[restrict 9]) { int *row = x + 1; row[k[0]] = 1; }")
