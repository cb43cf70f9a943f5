from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.loops.analysis.parallel import parallel_loops, private_arrays, without_parallel_loops
from polysched.loops.ir.nodes import Allocate, Block, block
from tests.loops.programs import array, assign, i, j, load, loop, n, program

OWN = Allocate("own", block([assign("own", (0,), load("x", i)), assign("y", (i,), load("own", 0))]))
INNER = loop("j", 0, 3, assign("z", (i, j), load("x", j)), kind=LoopKind.PARALLEL)
REGION = loop("i", 0, n, OWN, INNER, kind=LoopKind.PARALLEL)
AFTER = assign("y", (0,), load("shared", 0))


def test_only_outer_loops_count() -> None:
    body = block([loop("t", 0, 2, REGION), AFTER])
    assert parallel_loops(body) == [REGION]


def test_what_is_left() -> None:
    assert without_parallel_loops(block([REGION, AFTER])) == AFTER
    assert without_parallel_loops(REGION) == Block(())


def test_what_is_born_inside_is_private() -> None:
    arrays = [
        array("own", (1,), Role.TEMPORARY),
        array("shared", (1,), Role.TEMPORARY),
        array("unused", (1,), Role.TEMPORARY),
    ]
    made = program(arrays, Allocate("shared", Allocate("unused", REGION)))
    assert [one.name for one in private_arrays(made, REGION)] == ["own"]
