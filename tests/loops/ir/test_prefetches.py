from dataclasses import replace

import islpy as isl
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import Leaf, Loop, LoopKind, PrefetchDirective, executed
from polysched.ir.expr.expressions import Constant, Index
from polysched.loops.ir.nodes import Assign, Block, For, LoopNode, Prefetch
from polysched.loops.ir.prefetches import PrefetchSpec, prefetch_specs
from polysched.schedule.schedule import Schedule
from tests.support import kernels

TILES = isl.PwAff("{ S[i] -> [floor(i / 8)] }")
OUTER, OWN = Loop("io", {"S": TILES}, Leaf("S")), Loop("k", {}, Leaf("S"))
REQUEST = PrefetchSpec(
    PrefetchDirective("x", 3, 1, "k"),
    {"depth.0": OUTER, "depth.1": OWN},
    "depth.1",
    (8 * Index("depth.0"), Index("depth.1")),
    (8, 1),
)


def loop(body: LoopNode, variable: str = "k", upper: int = 9, step: int = 1) -> For:
    return For(variable, variable, Constant(0), Constant(upper), step, LoopKind.SEQUENTIAL, body)


def assign(instance: Index | Constant) -> Assign:
    return Assign("S", (instance,), Access("y", (instance,)), Constant(0))


def test_values_are_those_of_the_iterators() -> None:
    known = {"io": (0, 3), "k": (0, 8)}
    made = REQUEST.made(loop(Block(())), {"depth.0": Index("io")}, {}, known)
    assert made == Prefetch("x", (8 * Index("io"), Index("k") + 3), (8, 1), 1)


def test_iterations_ahead_are_steps() -> None:
    made = REQUEST.made(loop(Block(()), step=2), {"depth.0": Constant(1)}, {}, {"k": (0, 8)})
    assert made.start == (Constant(8), Index("k") + 6)


def test_iterations_of_a_loop_around() -> None:
    request = replace(REQUEST, counted="depth.0")
    known = {"io": (0, 6), "k": (0, 8)}
    values = {"depth.0": Index("io")}
    made = request.made(loop(Block(()), step=2), values, {"depth.0": 2}, known)
    assert made.start == (8 * Index("io") + 48, Index("k"))
    alone = request.made(loop(Block(())), {"depth.0": Constant(1)}, {}, known)
    assert alone.start == (Constant(32), Index("k"))


def test_a_value_that_isl_left_out() -> None:
    inner = loop(assign(Index("ii") + 16), "ii", 8)
    made = REQUEST.made(loop(inner), {}, {}, {"k": (0, 8)})
    assert made.start[0] == Constant(16)


@pytest.mark.parametrize("body", [loop(assign(Index("ii") + 16), "ii", 9), Block(())])
def test_a_value_that_nothing_tells(body: LoopNode) -> None:
    with pytest.raises(LoweringError, match="do not tell which iteration of loop 'io' is run"):
        REQUEST.made(loop(body), {}, {}, {"k": (0, 8)})


def test_requests_of_a_tree() -> None:
    program = Schedule(kernels.grid(8, 40)).prefetch("x", "i", 2).program
    tree = executed(program.tree)
    found = prefetch_specs(program, tree, ["depth.0", "depth.1"])
    assert isinstance(tree, Loop)
    (request,) = found[id(tree)]
    assert request.start == (Index("depth.0"), Constant(0))
    assert request.extents == (1, 40)
    assert list(request.around) == ["depth.0"]
