"""Integers computed in fewer bits: equal values at the edges of types, and expected types."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

import polysched as ps
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operation,
)
from polysched.ir.expr.narrowing import computed_bits, narrowed_value
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.expr.value_ranges import Range, Write, temporary_ranges, type_range, value_range
from polysched.ir.semantics.scalar import evaluate
from tests.support.effort import cases

TYPES = (ps.u8, ps.i8, ps.u16, ps.i16, ps.i32, ps.u32)
WIDE = (ps.i16, ps.u16, ps.i32, ps.u32, ps.i64)
BINARY = (
    *(Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM),
    *(Operator.BIT_AND, Operator.BIT_OR, Operator.BIT_XOR),
)
BY_LITERAL = (
    *(Operator.SHIFT_LEFT, Operator.SHIFT_RIGHT, Operator.QUOTIENT, Operator.REMAINDER),
    *(Operator.FLOOR_DIVIDE, Operator.MODULO, Operator.MULTIPLY),
)
LITERALS = (0, 1, 2, 3, 4, 8, 9, 15, 16, 77, 127, 128, 255, 256, -1, -7, 32767, 32768, 65535)


def _load(name: str, dtype: DType) -> Load:
    return Load(name, (), dtype)


def _of_type(load: Load) -> Range:
    return type_range(load.type)


def _random(choose: random.Random, dtype: DType, depth: int) -> Expression:
    kind = choose.randrange(9) if depth else 0
    if kind <= 1:
        source = choose.choice(TYPES)
        load = _load(f"{source}{choose.randrange(2)}", source)
        return load if source == dtype else Cast(load, dtype)
    if kind == 2:
        return Constant(choose.choice(LITERALS) % (1 << (dtype.bits - 1)), dtype)
    if kind == 3:
        inner = choose.choice(WIDE + TYPES)
        return Cast(_random(choose, inner, depth - 1), dtype)
    if kind == 4:
        operator = choose.choice((Operator.NEGATE, Operator.BIT_NOT, Operator.ABSOLUTE))
        return Operation(operator, (_random(choose, dtype, depth - 1),), dtype)
    if kind == 5:
        literal = Constant(choose.choice(LITERALS) % (1 << (dtype.bits - 1)), dtype)
        operands = (_random(choose, dtype, depth - 1), literal)
        return Operation(choose.choice(BY_LITERAL), operands, dtype)
    if kind == 6:
        inner = choose.choice(WIDE + TYPES)
        compared = tuple(_random(choose, inner, depth - 1) for _ in range(2))
        condition = Operation(choose.choice((Operator.LESS, Operator.EQUAL)), compared, boolean)
        if choose.randrange(3) == 0:
            return Cast(condition, dtype)
        sides = tuple(_random(choose, dtype, depth - 1) for _ in range(2))
        return Operation(Operator.SELECT, (condition, *sides), dtype)
    operands = tuple(_random(choose, dtype, depth - 1) for _ in range(2))
    return Operation(choose.choice(BINARY), operands, dtype)


def _edges(choose: random.Random, dtype: DType) -> int:
    edges = (dtype.lowest, dtype.lowest + 1, -1, 0, 1, 127, 128, 255, dtype.highest - 1)
    fitting = [one for one in (*edges, dtype.highest) if dtype.lowest <= one <= dtype.highest]
    return choose.choice([*fitting, choose.randint(dtype.lowest, dtype.highest)])


@pytest.mark.parametrize("seed", range(8))
def test_random_values(seed: int) -> None:
    choose, narrower = random.Random(seed), 0
    for _ in range(cases(125)):
        target = choose.choice(TYPES)
        value = Cast(_random(choose, choose.choice(WIDE), 4), target)
        scalars = frozenset({"i320", "u320"}) if choose.randrange(2) else frozenset()
        narrow = narrowed_value(value, target, _of_type, scalars)
        assert narrow.dtype == target
        narrower += computed_bits(narrow) < computed_bits(value)
        found = value_range(value, _of_type)
        assert found is not None
        for _ in range(12):
            given = {load.array: _edges(choose, load.type) for load in loads(value)}
            content = {name: load_type(name).numpy().type(one) for name, one in given.items()}
            expected = _evaluated(value, content)
            assert found[0] <= expected <= found[1], value
            assert _evaluated(narrow, content) == expected, value
    assert narrower > cases(12)


def _evaluated(value: Expression, content: dict[str, Any]) -> int:
    return int(evaluate(value, lambda name, _: content[name], {}))


def load_type(name: str) -> DType:
    return next(dtype for dtype in TYPES if name[:-1] == dtype.name)


def _wide(name: str, dtype: DType = ps.u8) -> Expression:
    return Cast(_load(name, dtype), ps.i32)


A, B, C = _wide("a"), _wide("b"), _wide("c")
ALL_BYTES = (0, 1, 127, 128, 254, 255)


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        ((A + B) // 2, 16),
        ((A * 77 + B * 150 + C * 29) // 256, 16),
        ((A * 257 + B) // 256, 16),
        (ps.minimum(A + B, 255), 16),
        (ps.maximum(A - B, 0), 16),
        (A - B, 8),
        (ps.select(A < B, A, 255), 8),
        (ps.select(A * A < B * 300, A, B), 32),
        (abs(A - B), 16),
        ((A * B + C * 255) // 255, 32),
        ((A * B + 255) // 255, 16),
        (_wide("w", ps.u16) + _wide("w", ps.u16), 16),
        ((_wide("w", ps.u16) + 2 * _wide("w", ps.u16) + 8) // 16, 16),
        (_wide("w", ps.u16) + _wide("w", ps.u16) < 9, 32),
    ],
)
def test_fewest_bits(value: Expression, bits: int) -> None:
    value = Cast(value, ps.u8)
    narrow = narrowed_value(value, ps.u8, _of_type)
    assert computed_bits(narrow) == bits
    for a, b, c in product(ALL_BYTES, repeat=3):
        content = {"a": a, "b": b, "c": c, "w": (257 * a + b - c) % 65536}
        read = {name: ps.u16.numpy().type(one) for name, one in content.items()}
        expected = _evaluated(value, read)
        assert _evaluated(narrow, read) == expected


@pytest.mark.parametrize("level", [-(2**31), -1, 0, 17, 255, 256, 2**31 - 1])
@pytest.mark.parametrize("operator", [Operator.LESS, Operator.LESS_EQUAL, Operator.EQUAL])
def test_comparison_with_an_argument(level: int, operator: Operator) -> None:
    given = _load("level", ps.i32)
    for sides in ((A, given), (given, A)):
        value = Cast(Cast(Operation(operator, sides, boolean), ps.i32), ps.u8)
        narrow = narrowed_value(value, ps.u8, _of_type, {"level"})
        assert narrow != value
        for a in ALL_BYTES:
            content = {"a": ps.u8.numpy().type(a), "level": ps.i32.numpy().type(level)}
            expected = _evaluated(value, content)
            assert _evaluated(narrow, content) == expected


def test_ranges_of_temporaries() -> None:
    m, s, t = _load("m", ps.i32), _load("s", ps.i32), _load("t", ps.i32)
    zero = Constant(0, ps.i32)
    values = [
        *(("m", A, None), ("m", ps.maximum(m, A - B), None)),
        *(("s", zero, None), ("s", s + A, None)),
        *(("t", zero, 1), ("t", t + A, 9), ("t", A - 9 + t, 1)),
    ]
    writes = [Write(array, (), value, times) for array, value, times in values]
    found = temporary_ranges(dict.fromkeys("mst", ps.i32), writes)
    assert found == {"m": (0, 255), "s": type_range(ps.i32), "t": (-9, 9 * 255 + 246)}


def test_sums_that_are_none() -> None:
    """Other elements, a doubled value, and a sum without a start."""
    s = Load("s", (Index("i") - 1,), ps.i32)
    assert Write("s", (Index("i"),), s + A, 9).increment is None
    t = _load("t", ps.i32)
    assert Write("t", (), t + t, 9).increment is None
    assert Write("t", (), t - A, 9).increment is None
    assert temporary_ranges({"t": ps.i32}, [Write("t", (), t + A, 9)]) == {}


@pytest.mark.parametrize("times", [2**23, 2**24, 10**12])
def test_sums_of_many_terms_wrap(times: int) -> None:
    t = _load("t", ps.i32)
    writes = [Write("t", (), Constant(0, ps.i32)), Write("t", (), t + A, times)]
    found = temporary_ranges({"t": ps.i32}, writes)["t"]
    assert found == ((0, 255 * times) if 255 * times < 2**31 else type_range(ps.i32))


def test_range_of_an_operation_on_literals() -> None:
    """Literals, and operations on literals alone, have no type."""
    seven = Operation(Operator.ADD, (Constant(3), Constant(4)), None)
    assert seven.dtype is None
    assert value_range(Cast(seven, ps.i32), _of_type) == (7, 7)
