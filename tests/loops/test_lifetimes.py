from polysched.ir.expressions import Constant, Index
from polysched.loops.lifetimes import merge_lifetimes
from polysched.loops.nodes import Allocate, Block, If, LoopNode, block, walk
from tests.loops.programs import assign, load, loop, n


def lives(*body: LoopNode) -> Allocate:
    return Allocate("tile", block(body))


FILL = assign("tile", (0,), Constant(1.0), "fill")
OTHER_FILL = assign("tile", (1,), Constant(3.0), "other_fill")
USE = assign("c", (0,), load("tile", 0), "use")
OTHER = assign("c", (1,), Constant(2.0), "other")


def births(node: LoopNode) -> int:
    return sum(isinstance(one, Allocate) for one in walk(node))


def test_parts_in_one_block_become_one_lifetime() -> None:
    assert merge_lifetimes(block([lives(FILL), OTHER, lives(USE)])) == lives(FILL, OTHER, USE)


def test_what_stands_outside_the_lifetime_stays_outside() -> None:
    merged = merge_lifetimes(block([OTHER, lives(FILL), lives(USE), OTHER]))
    assert merged == block([OTHER, lives(FILL, USE), OTHER])


def test_parts_under_conditions_are_found() -> None:
    condition = Index("i") < n
    merged = merge_lifetimes(block([If(condition, lives(FILL)), If(condition, lives(USE))]))
    assert merged == lives(If(condition, FILL), If(condition, USE))


def test_each_iteration_of_a_loop_keeps_its_own_lifetime() -> None:
    whole = loop("i", 0, n, lives(FILL, USE))
    rest = [lives(FILL), lives(USE)]
    merged = merge_lifetimes(block([*rest, whole, *rest]))
    assert merged == block([lives(FILL, USE), whole, lives(FILL, USE)])


def test_lifetimes_never_nest() -> None:
    mixed = If(Index("i") < n, loop("j", 0, n, lives(FILL, USE)), lives(USE))
    merged = merge_lifetimes(block([lives(FILL), mixed]))
    assert isinstance(merged, Allocate)
    assert births(merged) == 1


def test_another_buffer_is_left_alone() -> None:
    other = Allocate("other", OTHER)
    merged = merge_lifetimes(block([lives(FILL), other, lives(USE)]))
    assert isinstance(merged, Allocate)
    assert merged.array == "tile"
    assert isinstance(merged.body, Block)
    assert other in merged.body.children


def test_a_part_that_went_ahead_of_its_loop_is_joined_with_it() -> None:
    rest = loop("i", 0, n, lives(OTHER_FILL, USE))
    merged = merge_lifetimes(block([lives(FILL), rest]))
    assert merged == lives(FILL, loop("i", 0, n, OTHER_FILL, USE))


def test_full_and_partial_tiles_stay_apart() -> None:
    full, partial = loop("i", 0, n, lives(FILL, USE)), lives(FILL, USE)
    assert merge_lifetimes(block([full, partial])) == block([full, partial])
    assert merge_lifetimes(block([full, lives(FILL), lives(USE)])) == block([full, partial])


def test_a_part_that_begins_by_reading_belongs_to_what_stands_before() -> None:
    merged = merge_lifetimes(block([lives(FILL, USE), lives(USE), lives(FILL, USE)]))
    assert merged == block([lives(FILL, USE, USE), lives(FILL, USE)])
