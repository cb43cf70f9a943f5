import islpy as isl
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.loops.analysis.lifetimes import Timing, merge_lifetimes
from polysched.loops.ir.nodes import Allocate, Block, If, LoopNode, block, walk
from tests.loops.programs import assign, load, loop, n

FILL = assign("tile", (0,), Constant(1.0), "fill")
OTHER_FILL = assign("tile", (1,), Constant(3.0), "other_fill")
USE = assign("c", (0,), load("tile", 0), "use")
OTHER = assign("c", (1,), Constant(2.0), "other")
HERE = Index("here")
TIMING = Timing(
    isl.Set("[n] -> { : n >= 1 }"),
    {"n": (1, None)},
    {name: (isl.PwAff(f"{{ {name}[i] -> [(i)] }}"),) for name in ("fill", "use")},
)


def lives(*body: LoopNode, at: Expression = HERE) -> Allocate:
    """A lifetime in the iteration ``at`` of the loop around."""
    return Allocate("tile", block(body), (at,))


def births(node: LoopNode) -> int:
    return sum(isinstance(one, Allocate) for one in walk(node))


def merged(*parts: LoopNode) -> LoopNode:
    return merge_lifetimes(block(parts), TIMING)


def test_parts_of_one_iteration_become_one_lifetime() -> None:
    assert merged(lives(FILL), OTHER, lives(USE)) == lives(FILL, OTHER, USE)


def test_what_stands_outside_the_lifetime_stays_outside() -> None:
    assert merged(OTHER, lives(FILL), lives(USE), OTHER) == block([OTHER, lives(FILL, USE), OTHER])


def test_parts_under_conditions_are_found() -> None:
    condition = Index("i") < n
    parts = (If(condition, lives(FILL)), If(condition, lives(USE)))
    assert merged(*parts) == lives(If(condition, FILL), If(condition, USE))


def test_lifetimes_never_nest() -> None:
    mixed = If(Index("i") < n, loop("j", 0, n, lives(FILL, USE)), lives(USE))
    made = merged(lives(FILL), mixed)
    assert isinstance(made, Allocate)
    assert births(made) == 1


def test_another_buffer_is_left_alone() -> None:
    other = Allocate("other", OTHER, (HERE,))
    made = merged(lives(FILL), other, lives(USE))
    assert isinstance(made, Allocate)
    assert made.array == "tile"
    assert isinstance(made.body, Block)
    assert other in made.body.children


def test_a_buffer_cut_inside_of_another_is_joined_there() -> None:
    """The parts of ``tile`` are in one block only once those of ``buffer`` are joined."""
    parts = [Allocate("buffer", lives(part), (HERE,)) for part in (FILL, OTHER, USE)]
    assert merged(*parts) == Allocate("buffer", lives(FILL, OTHER, USE), (HERE,))
    inside_out = [lives(Allocate("zone", part, (HERE,))) for part in (FILL, OTHER, USE)]
    assert merged(*inside_out) == lives(Allocate("zone", block([FILL, OTHER, USE]), (HERE,)))


def test_the_iteration_after_a_loop_stays_apart() -> None:
    full = loop("i", 0, 4, lives(FILL, USE, at=Index("i")))
    last = lives(FILL, USE, at=Constant(4))
    assert merged(full, last) == block([full, last])


def test_iterations_of_two_loops_of_one_name_stay_apart() -> None:
    first = loop("i", 0, 4, lives(FILL, USE, at=Index("i")))
    second = loop("i", 4, 9, lives(FILL, USE, at=Index("i")))
    assert merged(first, second) == block([first, second])


def test_iterations_that_may_be_the_same_are_joined() -> None:
    first = loop("i", 0, 5, lives(FILL, at=Index("i")))
    second = loop("i", 4, 9, lives(USE, at=Index("i")))
    made = merged(first, second)
    assert isinstance(made, Allocate)
    assert births(made) == 1


def test_a_part_between_two_of_one_iteration_is_taken_in() -> None:
    made = merged(lives(FILL), lives(FILL, at=HERE + 1), lives(USE))
    assert isinstance(made, Allocate)
    assert births(made) == 1


def test_what_was_joined_of_different_iterations_is_apart_from_nothing() -> None:
    inner = If(Index("i") < n, block([lives(FILL), lives(USE, at=n)]))
    made = merged(inner, lives(USE, at=HERE + 1))
    assert isinstance(made, Allocate)
    assert births(made) == 1


def test_a_loop_of_unknown_value_does_not_shift_the_others() -> None:
    """The outer loop of the second part has no value; its inner one is no match for the first's."""
    first = Allocate("tile", FILL, (Constant(4), Constant(0)))
    second = Allocate("tile", USE, (None, Constant(0)))
    assert births(merged(first, second)) == 1
    later = Allocate("tile", block([FILL, USE]), (None, Constant(1)))
    assert births(merged(first, later)) == 2


def tile(at: Expression) -> Allocate:
    """A lifetime in the iteration ``at``, of which nothing else is known."""
    body = [
        assign("tile", (0,), Constant(1.0), "fill", (at,)),
        assign("c", (0,), load("tile", 0), "use", (at,)),
    ]
    return Allocate("tile", block(body), (None,))


def test_iterations_of_a_parallel_loop_and_its_rest_stay_apart() -> None:
    """Only the condition tells that the rest is another iteration; sequential loops need not."""
    rest = If(n % 4 >= 1, tile((n + 3) // 4 - 1))
    for kind, apart in ((LoopKind.PARALLEL, True), (LoopKind.SEQUENTIAL, False)):
        full = loop("i", 0, n // 4, tile(Index("i")), kind=kind)
        made = merged(full, rest)
        assert (made == block([full, rest])) is apart
        assert births(made) == 1 + apart


def test_threads_cannot_share_what_may_be_one_lifetime() -> None:
    first = loop("i", 0, 5, tile(Index("i")), kind=LoopKind.PARALLEL)
    second = loop("i", 4, 9, tile(Index("i")), kind=LoopKind.PARALLEL)
    with pytest.raises(LoweringError, match="buffer 'tile' belongs to the iterations of a paral"):
        merged(first, second)
