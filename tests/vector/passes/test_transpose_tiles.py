"""Tiles in registers: which copies make one, and that nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import TransposeDirective, TransposeStrategy
from polysched.ir.expr.dtypes import boolean, i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Operand, Parameter
from polysched.loops.ir.nodes import (
    Assign,
    For,
    If,
    LoopNode,
    LoopProgram,
    Transposition,
    walk,
)
from polysched.vector.passes.transpose_tiles import form_tiles
from tests.llvm.emit.test_nodes import assert_runs_as_interpreted
from tests.loops.programs import array, assign, load, program, vector
from tests.support.differential import assert_equal
from tests.support.interpreting import interpret

v, m = Index("v"), Parameter("m")
LANES = 8


def x(*subscripts: Operand) -> Load:
    return load("x", *subscripts, dtype=i32)


def lanes(
    body: LoopNode,
    lower: Operand = 0,
    upper: Operand = LANES,
    strategy: TransposeStrategy | None = TransposeStrategy.NETWORK,
    step: int = 1,
    fewest: int = 2,
) -> For:
    made = replace(vector("v", lower, upper, body), lanes=LANES, step=step)
    directive = None if strategy is None else TransposeDirective(strategy, fewest)
    return replace(made, transposition=directive)


def square(*body: LoopNode, context: str = "{ : }") -> LoopProgram:
    arrays = [
        array("x", (16, 16), Role.INPUT, i32),
        array("y", (16, 16), Role.INOUT, i32),
        array("line", (160,), Role.INOUT, i32),
    ]
    return program(arrays, *body, context=context)


def tiles(made: LoopProgram, registers: int = 32) -> list[Transposition]:
    formed = form_tiles(made, registers)
    return [node for node in walk(formed.body) if isinstance(node, Transposition)]


def refusal(made: LoopProgram) -> str:
    """Why a directive has no tile."""
    with pytest.raises(LoweringError) as caught:
        tiles(made)
    return str(caught.value)


def assert_same(made: LoopProgram, **parameters: int) -> None:
    """Loops, tiles and machine code agree; the interpreter refuses what lies outside of arrays."""
    formed = form_tiles(made, 32)
    given = {
        name: np.random.default_rng(5).integers(-9, 9, [int(str(e)) for e in one.shape], np.int32)
        for name, one in made.arrays.items()
        if one.role is not Role.TEMPORARY
    }
    expected = interpret(made, given, parameters)
    assert_equal(interpret(formed, given, parameters), expected, f"tiles at {parameters}")
    assert_runs_as_interpreted(made, **parameters)


def gathering(column: int) -> Assign:
    return assign("y", (column, v), x(v, column) * 2 + x(v + 1, column + 3))


def scattering(column: int) -> Assign:
    return assign("y", (v, column), x(column, v) + 1)


@pytest.mark.parametrize("copies", [4, 5, 8, 13])
@pytest.mark.parametrize("ends", [(0, 8), (0, 5), (2, 7), (3, 4)])
def test_loads(copies: int, ends: tuple[int, int]) -> None:
    made = square(*(lanes(gathering(column), *ends) for column in range(copies)))
    assert len(tiles(made)) == 2 * (1 if copies < 9 else 2)
    assert_same(made)


@pytest.mark.parametrize("copies", [4, 5, 8, 13])
@pytest.mark.parametrize("ends", [(0, 8), (0, 5), (2, 7), (3, 4)])
def test_stores(copies: int, ends: tuple[int, int]) -> None:
    made = square(*(lanes(scattering(column), *ends) for column in range(copies)))
    assert len(tiles(made)) == (1 if copies < 9 else 2)
    assert_same(made)


def test_loads_and_stores_at_once() -> None:
    made = square(*(lanes(assign("y", (v, 2 + c), x(v + 2, c))) for c in range(8)))
    assert len(tiles(made)) == 2
    assert_same(made)


def test_registers_bound_the_columns_of_a_tile() -> None:
    made = square(*(lanes(gathering(column)) for column in range(8)))
    assert len(tiles(made, registers=16)) == 2
    assert len(tiles(made, registers=8)) == 4


@pytest.mark.parametrize("step", [1, 3])
@pytest.mark.parametrize("make", [gathering, scattering])
def test_lanes_between_parametric_ends(make: type, step: int) -> None:
    copies = [lanes(make(column), m, m + 4, step=step) for column in range(4)]
    made = square(*copies, context="[m] -> { : 0 <= m <= 4 }")
    assert tiles(made)
    for value in range(5):
        assert_same(made, m=value)


@pytest.mark.parametrize("make", [gathering, scattering])
@pytest.mark.parametrize("is_line", [True, False])
def test_copies_under_guards(make: type, is_line: bool) -> None:
    """Guards that say how many copies run are one comparison; others one for each."""

    def guard(column: int) -> Expression:
        return (m > column) if is_line else (m - 3 * column <= 4)

    copies = [If(guard(column), lanes(make(column))) for column in range(5)]
    made = square(*copies, context="[m] -> { : 0 <= m <= 20 }")
    assert tiles(made)
    for value in range(7):
        assert_same(made, m=value)


def test_rows_of_a_line() -> None:
    made = square(
        *(lanes(assign("y", (c, v), load("line", 20 * v + c, dtype=i32))) for c in range(4))
    )
    assert len(tiles(made)) == 1
    assert_same(made)


def test_rows_that_overlap() -> None:
    """They may be read; stored, the later copy would have to win."""
    loads = square(
        *(lanes(assign("y", (c, v), load("line", 2 * v + c, dtype=i32))) for c in range(4))
    )
    assert len(tiles(loads)) == 1
    assert_same(loads)
    stores = square(*(lanes(assign("line", (2 * v + c,), x(c, v))) for c in range(4)))
    assert "writes an element twice" in refusal(stores)


def test_an_array_that_is_read_and_written() -> None:
    made = square(*(lanes(assign("y", (c + 4, v), load("y", v, c, dtype=i32))) for c in range(4)))
    assert "its statement reads what it writes" in refusal(made)


def test_rows_that_are_not_loaded_are_zero() -> None:
    """All lanes of the columns may compute, and operations on subnormal numbers are slow."""
    made = square(*(lanes(gathering(c), m, m + 4) for c in range(4)), context="[m] -> { : m = 2 }")
    formed = form_tiles(made, 32)
    rows = [node for node in walk(formed.body) if isinstance(node, If)]
    assert len(rows) == 2 * LANES
    for row in rows:
        loaded, absent = row.then, row.otherwise
        assert isinstance(loaded, For)
        assert isinstance(loaded.body, Assign)
        assert isinstance(absent, For)
        assert isinstance(absent.body, Assign)
        assert absent.body.target == loaded.body.target
        assert absent.body.value == Constant(0, i32)


def test_stores_that_a_later_copy_reads() -> None:
    """Copy c reads of row 3 what copy c - 1 has written there."""
    made = square(*(lanes(assign("y", (v, c), load("y", 3, v, dtype=i32) + 1)) for c in range(4)))
    assert "its statement reads what it writes" in refusal(made)


@pytest.mark.parametrize("strategy", [None, TransposeStrategy.GATHER])
@pytest.mark.parametrize("make", [gathering, scattering])
def test_no_tile_without_a_directive(make: type, strategy: TransposeStrategy | None) -> None:
    made = square(*(lanes(make(column), strategy=strategy) for column in range(8)))
    assert not tiles(made)
    assert_same(made)


def test_one_copy_has_nothing_to_exchange_with() -> None:
    made = square(lanes(gathering(0)))
    assert not tiles(made)
    assert_same(made)


@pytest.mark.parametrize("fewest", [4, 5, 6])
def test_fewer_columns_than_the_fewest_are_gathered(fewest: int) -> None:
    """Thirteen columns are tiles of eight and of five."""
    made = square(*(lanes(gathering(column), fewest=fewest) for column in range(13)))
    assert len(tiles(made)) == 2 * (2 if fewest <= 5 else 1)
    assert_same(made)


def test_columns_in_descending_order() -> None:
    made = square(*(lanes(gathering(3 - column)) for column in range(4)))
    assert "do not go from one element to the next" in refusal(made)


def test_lanes_that_are_reversed() -> None:
    made = square(*(lanes(assign("y", (column, v), x(3, 7 - v))) for column in range(4)))
    assert "no access of its statement has its lanes in different rows" in refusal(made)


def test_a_place_that_data_decide() -> None:
    place = x(0, 0)
    made = square(*(lanes(assign("y", (c, v), x(v, place % 4 + c))) for c in range(4)))
    assert "no access of its statement has its lanes in different rows" in refusal(made)


def test_booleans_are_not_transposed() -> None:
    arrays = [array("x", (8, 8), Role.INPUT, boolean), array("y", (8, 8), Role.OUTPUT, boolean)]
    copies = [lanes(assign("y", (c, v), load("x", v, c, dtype=boolean))) for c in range(8)]
    reason = refusal(program(arrays, *copies, context="{ : }"))
    assert "elements of array 'x' are of type bool, no whole bytes" in reason


def test_two_copies() -> None:
    copies = [lanes(gathering(c)) for c in range(2)]
    assert len(tiles(square(*copies))) == 2
    assert_same(square(*copies))


@pytest.mark.parametrize(
    "strategy",
    [TransposeStrategy.ELTWISE, TransposeStrategy.SHUFFLE_1D, TransposeStrategy.NETWORK],
)
@pytest.mark.parametrize("make", [gathering, scattering])
def test_strategies(make: type, strategy: TransposeStrategy) -> None:
    copies = [lanes(make(column), strategy=strategy) for column in range(8)]
    made = square(*copies)
    assert {one.strategy for one in tiles(made)} == {strategy}
    assert_same(made)


@pytest.mark.parametrize(
    ("copies", "reason"),
    [
        (
            [assign("y", (c, v), x(c, v)) for c in range(4)],
            "no access of its statement has its lanes in different rows",
        ),
        ([gathering(2 * c) for c in range(4)], "do not go from one element to the next"),
        ([If(v < 5, gathering(c)) for c in range(4)], "lanes run under conditions of their own"),
        ([assign("line", (2 * v + c,), x(c, v)) for c in range(4)], "writes an element twice"),
    ],
)
def test_refused(copies: list[LoopNode], reason: str) -> None:
    made = square(*(lanes(one, strategy=TransposeStrategy.NETWORK) for one in copies))
    with pytest.raises(LoweringError, match=reason) as caught:
        tiles(made)
    assert str(caught.value).startswith("vector loop 'v' is to be transposed in registers, but no")
    assert str(caught.value).endswith("or remove the transpose step")


def test_statements_between_the_copies() -> None:
    other = vector("w", 0, 4, assign("line", (Index("w"),), x(0, Index("w")), "T"))
    other = replace(other, lanes=4)
    copies = [node for c in range(4) for node in (lanes(gathering(c)), other)]
    assert "other statements run between the copies" in refusal(square(*copies))
