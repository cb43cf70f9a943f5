from polysched.ir.expr.expressions import Constant
from polysched.loops.analysis.contexts import LoopContext, below, map_below, walk_contexts
from polysched.loops.ir.nodes import Allocate, Assign, If, LoopNode, block
from tests.loops.programs import assign, i, j, loop, n

FIRST = assign("c", (i,), Constant(1.0), "first")
SECOND = assign("c", (j,), Constant(2.0), "second")
NEST = loop("i", 0, n, block([FIRST, loop("j", 2, 8, If(i < j, Allocate("t", SECOND), FIRST))]))


def leaves(node: LoopNode) -> list[tuple[str, LoopContext]]:
    return [
        (one.statement, place)
        for one, place in walk_contexts(node, LoopContext())
        if isinstance(one, Assign)
    ]


def test_loops_and_conditions_around() -> None:
    found = leaves(NEST)
    assert [name for name, _ in found] == ["first", "second", "first"]
    variables = [[one.variable for one in place.loops] for _, place in found]
    assert variables == [["i"], ["i", "j"], ["i", "j"]]
    assert [place.around[len(place.loops) :] for _, place in found] == [
        (),
        (i < j,),
        (~(i < j),),
    ]


def test_intervals() -> None:
    place = leaves(NEST)[1][1]
    assert place.intervals({"n": (1, 5)}) == {"n": (1, 5), "i": (0, 4), "j": (2, 7)}
    assert place.intervals({})["i"] == (0, None)


def test_children_are_changed_with_their_places() -> None:
    seen = []

    def noted(node: LoopNode, place: LoopContext) -> LoopNode:
        seen.append((type(node), place.around))
        return SECOND if node is FIRST else node

    choice = If(i < j, FIRST, SECOND)
    assert map_below(choice, LoopContext(), noted) == If(i < j, SECOND, SECOND)
    assert seen == [(Assign, (i < j,)), (Assign, (~(i < j),))]
    assert [node for node, _ in below(choice, LoopContext())] == [FIRST, SECOND]
