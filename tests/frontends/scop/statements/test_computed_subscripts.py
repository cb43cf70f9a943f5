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
    "for (int i = 0; i < n; i += 4) "
    "{ int *q = y + i; for (int j = 0; j < 4; j++) q[k[j] % 4] = j; }",
    "for (int i = 0; i < n; i++) { const int *q = k + i; y[i] = t[q[0] % 3] + q[t[i] % 2]; }",
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


def test_a_constant_table_bounds_the_elements_that_it_selects() -> None:
    text = """static const unsigned char order[4] = {TABLE};
    void f(int n, const int *x, int *y) {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 4; j++) y[4 * i + j] = x[4 * i + order[j]];
    }"""
    program = parse_c(text.replace("TABLE", "0, 2, 1, 2"))
    assert program.unlimited == ()
    assert str(program.kernel.arrays["x"].shape[0]) == "((4 * n) - 1)"
    assert parse_c(text.replace("TABLE", "300")).unlimited == ("x",)  # the element is 44


@needs_gcc
def test_bytes_select_elements_of_short_local_arrays(tmp_path: Path) -> None:
    """A byte may be 255, but not where C is defined; an element may be read that is never set."""
    text = """void f(int n, const unsigned char *restrict k, int *restrict y) {
        int count[10] = {0}, next[10];
        for (int i = 0; i < n; i++) count[k[i]]++;
        for (int i = 1; i < 10; i++) next[i] = count[i - 1];
        for (int i = 0; i < n; i++) { int c = k[i]; if (c) y[i] = next[c]++; }
    }"""
    values = np.random.default_rng(5).integers(0, 10, 40).astype(np.uint8)
    assert_as_gcc(text, "f", tmp_path, (ctypes.c_int(40), values, np.zeros(40, np.int32)))


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
        parse_c("void f(int k[1], int x[restrict 3][3]) { int *row = x[1]; row[k[0]] = 1; }")
