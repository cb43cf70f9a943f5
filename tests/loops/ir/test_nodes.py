from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.functions import minimum
from polysched.loops.ir.nodes import Block, If, block, map_children, variable_interval
from tests.loops.programs import assign, i, load, loop, n


def test_the_interval_of_a_variable_ends_with_its_last_value() -> None:
    assert variable_interval(Constant(2), Constant(7), {}) == (2, 6)
    assert variable_interval(Constant(0), n, {"n": (1, 9)}) == (0, 8)
    assert variable_interval(Constant(0), n, {"n": (1, None)}) == (0, None)
    assert variable_interval(i, minimum(n, i + 4), {"i": (0, 5)}) == (0, 8)


def test_blocks_are_flat() -> None:
    one, two = assign("y", (0,), load("x", 0)), assign("y", (1,), load("x", 1))
    around = loop("i", 0, 2, one)
    assert block([one]) is one
    assert block([block([one, two]), around]) == Block((one, two, around))
    assert block([]) == Block(())


def test_nothing_is_made_anew_where_nothing_changes() -> None:
    node = loop("i", 0, 4, If(i < 2, assign("y", (i,), Constant(1))))
    assert map_children(node, lambda child: child) is node


def test_what_an_assignment_touches() -> None:
    at = load("p", i, dtype=i64)
    made = assign("y", (at,), load("x", load("q", 3, dtype=i64)) + load("x", 1))
    assert [one.array for one in made.reads] == ["q", "x", "x", "p"]
    assert made.arrays == {"y", "q", "x", "p"}
