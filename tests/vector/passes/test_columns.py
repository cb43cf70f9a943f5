"""Accesses whose lanes lie rows apart."""

from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Access, Role
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, Index, Load, Operand
from polysched.loops.ir.nodes import If, block
from polysched.vector.passes.columns import Column, Strided, column_of
from tests.loops.programs import array, assign, load, loop, vector

v, j, n = Index("v"), Index("j"), Index("n")
PLAIN = array("x", (64, 64), Role.INPUT, i32)
TURNED = replace(PLAIN, strides=(Constant(1), Constant(64)))
ARRAYS = {"x": PLAIN, "y": array("y", (64, 64), Role.OUTPUT, i32), "turned": TURNED}


def x(*subscripts: Operand, name: str = "x") -> Load:
    return load(name, *subscripts, dtype=i32)


def column(value: Load) -> Column:
    found = column_of(vector("v", 0, 8, assign("y", (j, v), value)), ARRAYS)
    assert found is not None
    return found


def strided(*subscripts: Operand, name: str = "x") -> Strided | None:
    one = x(*subscripts, name=name)
    return column(one).strided(Access(name, one.subscripts))


def test_what_is_strided() -> None:
    found = strided(2 * v + j, j + 3)
    assert found is not None
    assert (found.steps, found.along) == ((2, 0), -1)
    assert strided(j, v) is None
    assert strided(j, -v) is None
    assert strided(j, j) is None
    assert strided(j, 2 * v) is not None
    assert strided(v // 2, j) is None
    assert strided(x(v, j), j) is None


def test_the_dimension_of_neighbors_counts() -> None:
    found = strided(j, v, name="turned")
    assert found is not None
    assert found.along == -2
    assert strided(v, j, name="turned") is None


@pytest.mark.parametrize(
    ("other", "distance"),
    [((v, j + 3), 3), ((v, j - 2), -2), ((v + 1, j), None), ((v, n), None), ((2 * v, j), None)],
)
def test_distance(other: tuple[Operand, Operand], distance: int | None) -> None:
    one, another = strided(v, j), strided(*other)
    assert one is not None
    assert another is not None
    assert one.distance(another) == distance


def test_rows() -> None:
    one = strided(2 * v + 1, j)
    assert one is not None
    assert [str(subscript) for subscript in one.row(3, Constant(2))] == ["7", "(j + 2)"]
    assert one.rows_apart(64)
    line = strided(0, 5 * v)
    assert line is not None
    assert line.rows_apart(5)
    assert not line.rows_apart(6)


def test_loads_of_one_place_count_once() -> None:
    value = x(v, j) * x(v, j) + x(v, j + 1) + x(j, v)
    found = column_of(vector("v", 0, 8, assign("y", (j, v), value)), ARRAYS)
    assert found is not None
    assert [one.place[1].constant for one in found.loads] == [0, 1]
    assert found.store is None
    assert found.read_arrays == {"x"}


def test_what_is_no_column() -> None:
    lanes = vector("v", 0, 8, assign("y", (j, v), x(v, j)))
    guarded = column_of(If(n < 3, If(j < 2, lanes)), ARRAYS)
    assert guarded is not None
    assert guarded.guard is not None
    for node in (
        loop("j", 0, 8, lanes),
        If(n < 3, lanes, lanes),
        If(x(0, 0) < 3, lanes),
        vector("v", 0, 8, If(v < 3, assign("y", (j, v), x(v, j)))),
        block([lanes, lanes]),
    ):
        assert column_of(node, ARRAYS) is None
