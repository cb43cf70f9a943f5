from polysched.ir.expressions import Constant
from polysched.ir.functions import minimum
from polysched.loops.nodes import Block, block, variable_interval
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
