"""Statements that an instruction computes, and why others are not computed by it."""

from __future__ import annotations

import pytest

import polysched as ps
from polysched.instructions.byte_differences import byte_difference_forms
from polysched.instructions.matching import Mismatch, fits, match_statement
from polysched.instructions.x86 import x86_instructions
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.ir.expr.expressions import Expression, Load

FULL = x86_instructions()["vpdpbusd"][0]
PAIRS = x86_instructions()["vpdpwssd"][0]


def matched(form: ps.Instruction, x: DType, y: DType, make: str) -> object:
    """The matches of ``s[n] += ...`` with arrays ``x`` and ``y``."""
    build = ps.KernelBuilder("dot")
    given = {"x": build.input("x", x, (16, 4)), "y": build.input("y", y, (16, 4))}
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=4) as (n, r):
        first, second = given["x"][n, r], given["y"][n, r]
        wide = ps.cast(first, ps.i32), ps.cast(second, ps.i32)
        value: Expression = {
            "product": wide[0] * wide[1],
            "sum": wide[0],
            "constant": 7 * wide[0],
            "large constant": 300 * wide[0],
            "in two steps": ps.cast(ps.cast(first, ps.i16), ps.i32) * wide[1],
            "cut": ps.cast(ps.cast(first, ps.i8), ps.i32) * wide[1],
            "difference": wide[0] - wide[1],
            "three": wide[0] * wide[1] * wide[1],
        }[make]
        s[n] = value + s[n] if make == "product" else s[n] + value
    kernel = build.kernel()
    (statement,) = kernel.statements.values()
    return match_statement(form, statement.target, statement.value, kernel.arrays)


def bound(found: object) -> dict[str, str]:
    """What takes the place of each operand."""
    assert isinstance(found, list)
    return {
        name: one.array if isinstance(one, Load) else str(one) for name, one in found[0].items()
    }


def test_factors_in_any_order() -> None:
    assert bound(matched(FULL, ps.u8, ps.i8, "product")) == {"a": "x", "b": "y"}
    assert bound(matched(FULL, ps.i8, ps.u8, "product")) == {"a": "y", "b": "x"}


def test_terms_and_constants() -> None:
    assert bound(matched(FULL, ps.u8, ps.i8, "sum")) == {"a": "x", "b": "1"}
    assert bound(matched(FULL, ps.i8, ps.i8, "sum")) == {"a": "1", "b": "x"}
    assert bound(matched(FULL, ps.u8, ps.i8, "constant")) == {"a": "x", "b": "7"}
    found = matched(FULL, ps.u8, ps.i8, "large constant")
    assert found == Mismatch("the factor 300 is not a value of type u8")


def test_narrower_elements() -> None:
    for dtype in (ps.i8, ps.u8, ps.i16):
        assert bound(matched(PAIRS, dtype, ps.i16, "product")) == {"a": "x", "b": "y"}
    assert bound(matched(PAIRS, ps.u8, ps.i8, "in two steps")) == {"a": "x", "b": "y"}


@pytest.mark.parametrize(
    ("types", "make", "reason"),
    [
        (
            (ps.u8, ps.u8),
            "product",
            "array 'y' has elements of type u8; operand 'b' of vpdpbusd takes i8",
        ),
        (
            (ps.i16, ps.i8),
            "product",
            "array 'x' has elements of type i16; operand 'a' of vpdpbusd takes u8",
        ),
        (
            (ps.u8, ps.i8),
            "difference",
            "the statement computes s[n] = s[n] + (i32(x[n, r]) - i32(y[n, r])); vpdpbusd computes "
            "sums[lane] = sums[lane] + i32(a[lane, term])*i32(b[lane, term])",
        ),
    ],
)
def test_mismatches(types: tuple[DType, DType], make: str, reason: str) -> None:
    assert matched(FULL, *types, make) == Mismatch(reason)


@pytest.mark.parametrize("make", ["cut", "three"])
def test_other_values(make: str) -> None:
    """A conversion that changes values may not be left out."""
    assert isinstance(matched(FULL, ps.u8, ps.i8, make), Mismatch)


def test_which_types_hold_which() -> None:
    assert fits(ps.u8, ps.i16)
    assert not fits(ps.u8, ps.i8)
    assert not fits(ps.u16, ps.i16)
    assert not fits(DType(NumberKind.SIGNED, 4), ps.i8)
    assert fits(ps.f32, ps.f32)
    assert not fits(ps.i8, ps.f32)


def test_the_target_is_no_operand() -> None:
    build = ps.KernelBuilder("dot")
    s, y = build.inout("s", ps.i32, (20,)), build.input("y", ps.i16, (16, 2))
    with build.loops(n=16, r=2) as (n, r):
        s[n] += ps.cast(ps.cast(s[r + 16], ps.i16), ps.i32) * ps.cast(y[n, r], ps.i32)
    kernel = build.kernel()
    (statement,) = kernel.statements.values()
    found = match_statement(PAIRS, statement.target, statement.value, kernel.arrays)
    assert isinstance(found, Mismatch)


def written(value: str, x: DType = ps.u8, total: DType = ps.i32) -> object:
    """The matches of a sum of differences ``d`` of ``a`` and ``b``, in 32 bits."""
    build = ps.KernelBuilder("differences")
    first, second = (build.input(name, x, (8, 8)) for name in "xy")
    s = build.inout("s", total, (8,))
    with build.loops(n=8, r=8) as (n, r):
        a, b = ps.cast(first[n, r], ps.i32), ps.cast(second[n, r], ps.i32)
        d = a - b
        chosen = {
            "absolute": lambda: ps.absolute(d),
            "negative": lambda: ps.select(d < 0, -d, d),
            "positive": lambda: ps.select(d > 0, d, -d),
            "larger first": lambda: ps.select(a > b, a - b, b - a),
            "smaller first": lambda: ps.select(a > b, b - a, a - b),
            "another difference": lambda: ps.select(d < 0, -d, a),
        }[value]()
        s[n] += ps.cast(chosen, total)
    kernel = build.kernel()
    (statement,) = kernel.statements.values()
    form = byte_difference_forms()[total.bits == 64]
    return match_statement(form, statement.target, statement.value, kernel.arrays)


@pytest.mark.parametrize("value", ["absolute", "negative", "positive", "larger first"])
@pytest.mark.parametrize("total", [ps.i32, ps.u32, ps.i64, ps.u64], ids=str)
def test_absolute_values(value: str, total: DType) -> None:
    assert sorted(bound(written(value, total=total)).values()) == ["x", "y"]


@pytest.mark.parametrize(
    ("value", "x"),
    [
        ("smaller first", ps.u8),
        ("another difference", ps.u8),
        ("absolute", ps.i8),
        ("larger first", ps.i32),  # a difference may wrap
    ],
)
def test_other_values_are_no_differences_of_bytes(value: str, x: DType) -> None:
    assert isinstance(written(value, x), Mismatch)


def test_products_of_unsigned_integers() -> None:
    """They have the same low bits; a product that is widened afterwards has others."""
    build = ps.KernelBuilder("dot")
    x, y = build.input("x", ps.u8, (16, 4)), build.input("y", ps.i8, (16, 4))
    s, t = build.inout("s", ps.u32, (16,)), build.inout("t", ps.u64, (16,))
    with build.loops(n=16, r=4) as (n, r):
        product = ps.cast(x[n, r], ps.u32) * ps.cast(y[n, r], ps.u32)
        s[n] += product
        t[n] += ps.cast(product, ps.u64)
    kernel = build.kernel()
    narrow, wide = (
        match_statement(FULL, one.target, one.value, kernel.arrays)
        for one in kernel.statements.values()
    )
    assert bound(narrow) == {"a": "x", "b": "y"}
    assert isinstance(wide, Mismatch)
