"""Every pair of special numbers, bit for bit, and what the machine code is made of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.semantics.memory import AnyArray
from polysched.lower import compile
from polysched.user import Schedule
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

FUNCTIONS = {"minimum": minimum, "maximum": maximum}
SPECIAL = (0.0, 1e-45, 3e-39, 1.0, 1.5, 3e38, np.inf)

named = pytest.mark.parametrize("name", FUNCTIONS)
floats = pytest.mark.parametrize("dtype", [f32, f64], ids=str)


def extremum(name: str, dtype: DType, length: int) -> Kernel:
    build = KernelBuilder(name)
    x, y = (build.input(array, dtype, (length,)) for array in "xy")
    z = build.output("z", dtype, (length,))
    with build.loops(i=length) as i, build.statement("S"):
        z[i] = FUNCTIONS[name](x[i], y[i])
    return build.kernel()


def ordered(dtype: DType) -> AnyArray:
    """From the smallest to the largest number, -0 before +0."""
    positive = np.array(SPECIAL, dtype.numpy())
    return np.concatenate([-positive[::-1], positive])


@floats
@named
@pytest.mark.parametrize("lanes", [None, 4, 16])
def test_all_pairs_bit_for_bit(name: str, dtype: DType, lanes: int | None) -> None:
    numbers = ordered(dtype)
    places = np.array(list(itertools.product(range(len(numbers)), repeat=2)))
    x, y = (np.ascontiguousarray(numbers[places[:, side]]) for side in (0, 1))
    expected = numbers[places.min(axis=1) if name == "minimum" else places.max(axis=1)]
    schedule = Schedule(extremum(name, dtype, len(x)))
    run = compile(schedule if lanes is None else schedule.vectorize("i", lanes), cache=NO_CACHE)
    assert run(x, y).tobytes() == expected.tobytes()


@floats
@named
def test_nan_of_either_sign_on_either_side(name: str, dtype: DType) -> None:
    numbers = ordered(dtype)
    run = compile(Schedule(extremum(name, dtype, len(numbers))).vectorize("i", 4), cache=NO_CACHE)
    for nan in (np.nan, -np.nan):
        many = np.full_like(numbers, nan)
        assert np.isnan(run(many, numbers)).all()
        assert np.isnan(run(numbers, many)).all()
        assert np.isnan(run(many, -many)).all()


def against_literal(name: str, dtype: DType, literal: float, length: int) -> Kernel:
    build = KernelBuilder(name)
    x = build.input("x", dtype, (length,))
    y, z = (build.output(array, dtype, (length,)) for array in "yz")
    with build.loops(i=length) as i:
        with build.statement("S"):
            y[i] = FUNCTIONS[name](x[i], literal)
        with build.statement("T"):
            z[i] = FUNCTIONS[name](literal, x[i])
    return build.kernel()


@floats
@named
@covering(1, literal=[0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan], lanes=[None, 16])
def test_literals_bit_for_bit(name: str, dtype: DType, literal: float, lanes: int | None) -> None:
    numbers = np.append(ordered(dtype), np.nan).astype(dtype.numpy())
    number = float(literal)
    schedule = Schedule(against_literal(name, dtype, number, len(numbers)))
    run = compile(schedule if lanes is None else schedule.vectorize("i", lanes), cache=NO_CACHE)
    literals = np.full_like(numbers, literal)
    pairs = Schedule(extremum(name, dtype, len(numbers)))
    expected = compile(pairs, cache=NO_CACHE)(numbers, literals)
    is_nan = np.isnan(expected)
    assert is_nan.any()
    for made in run(numbers):
        assert np.array_equal(np.isnan(made), is_nan)
        assert made[~is_nan].tobytes() == expected[~is_nan].tobytes()


@pytest.mark.parametrize(
    ("name", "literal", "arithmetic"),
    [("maximum", 0.0, 2), ("maximum", 1.0, 1), ("minimum", 0.0, 1), ("minimum", 6.0, 1)],
)
def test_literals_take_one_comparison(name: str, literal: float, arithmetic: int) -> None:
    schedule = Schedule(against_literal(name, f32, literal, 1024)).vectorize("i", 16)
    loop = hot_loop(parse(schedule.show("asm", "skylake-avx512"))[0])
    assert loop is not None
    assert loop.counts.vector_arithmetic in (arithmetic, 2 * arithmetic)  # of one statement or both


@pytest.mark.parametrize("machine", ["skylake-avx512", "haswell-avx2"])
@pytest.mark.parametrize(("name", "arithmetic"), [("minimum", 3), ("maximum", 5)])
def test_no_masks_are_moved(name: str, arithmetic: int, machine: str) -> None:
    """Two comparisons a vector, and what makes one result of two."""
    schedule = Schedule(extremum(name, f32, 1024)).vectorize("i", 16 if "512" in machine else 8)
    text = schedule.show("asm", machine)
    loop = hot_loop(parse(text)[0])
    assert loop is not None
    assert loop.counts.vector_arithmetic == arithmetic
    assert "vpmov" not in text
    assert "blend" not in text
