"""Which places of an array the accesses of a region keep going to."""

from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import i32, i64
from polysched.ir.expr.expressions import Constant, as_expression
from polysched.ir.expr.linear import linear_form
from polysched.loops.ir.nodes import If, LoopNode
from polysched.vector.classify import surely_runs
from polysched.vector.passes.slots import Lanes, Region, Slot, find_slots, slot_of
from tests.llvm.emit.accumulations import add, i, k, lanes, line, m, v
from tests.llvm.emit.test_nodes import assert_runs_as_interpreted
from tests.loops.programs import assign, load, loop


def places(region: LoopNode, budget: int = 32, *, needs_memory: bool = True) -> list[str] | None:
    """Where the slots of ``y`` begin, as text; None if it stays in memory."""
    found = find_slots("y", Region(region, {}), budget, needs_memory=needs_memory)
    return (
        None if found is None else [str(form.expression()) for slot in found for form in slot.place]
    )


def test_elements_and_vectors() -> None:
    assert places(loop("k", 0, 9, add(3, k), add(i, k))) is None  # perhaps one element
    assert places(loop("k", 0, 9, add(i + 1, k), add(i, k))) == ["(i + 1)", "i"]
    assert places(loop("k", 0, 9, lanes(add(v, k)), lanes(add(v + 8, k)))) == ["0", "8"]


def test_the_slot_of_a_vector_has_its_lanes() -> None:
    access = Access("y", (as_expression(v + 8),))
    place = (linear_form(Constant(8), {}),)
    part = lanes(add(v + 8, k), upper=m)
    assert slot_of(access, part, needs_memory=True) == Slot("y", place, Lanes(Constant(0), m, 1, 8))
    assert slot_of(access, part, needs_memory=False) == Slot(
        "y", place, Lanes(Constant(0), Constant(8), 1, 8)
    )
    element = Access("y", (Constant(8),))
    assert slot_of(element, part, needs_memory=True) == Slot("y", place, None)
    assert slot_of(element, part, is_write=True, needs_memory=True) is None


def test_the_lanes_must_not_change_inside_either() -> None:
    part = lanes(add(v, k), upper=k)
    access = Access("y", (v,))
    assert slot_of(access, part, needs_memory=True) is not None
    assert slot_of(access, part, bound=frozenset({"k"}), needs_memory=True) is None
    assert slot_of(access, part, bound=frozenset({"k"}), needs_memory=False) is not None


def test_a_buffer_may_be_touched_under_a_condition() -> None:
    region = loop("k", 0, 9, If(k < 4, add(3, k)))
    assert places(region) is None
    assert places(region, needs_memory=False) == ["3"]


def test_an_element_under_conditions_that_do_not_change() -> None:
    both = If(m < 4, If(i < 4, add(3, k)))
    region = Region(loop("k", 0, 9, both), {})
    found = find_slots("y", region, 32, needs_memory=True)
    assert found is not None
    assert list(found.values()) == [(as_expression(m < 4), as_expression(i < 4))]
    assert places(loop("k", 0, 9, both, If(m < 4, add(3, k)))) == ["3"]
    assert places(loop("k", 0, 9, both, If(m < 5, add(3, k)))) is None  # none implies the other
    assert places(loop("k", 0, 9, both, add(3, k))) == ["3"]
    assert places(loop("k", 0, 9, If(m < 4, add(3, k), add(4, k)))) is None
    assert places(loop("k", 0, 9, If(load("x", 0, dtype=i32) < 4, add(3, k)))) is None
    assert places(loop("i", 0, 9, If(m < 4, loop("k", 0, m, add(3, k))))) is None
    assert places(loop("i", 0, 9, loop("k", 0, 4, both))) is None  # the condition changes with i


def test_a_loop_that_may_not_run_inside_another() -> None:
    assert places(loop("k", 0, m, add(3, k))) == ["3"]
    assert places(loop("i", 0, 2, loop("k", 0, m, add(3, k)))) is None
    assert places(loop("i", 0, 2, loop("k", 0, 4, add(3, k)))) == ["3"]


def test_what_surely_runs() -> None:
    assert surely_runs(loop("k", 0, 1, add(3, k)), {})
    assert surely_runs(loop("k", i, i + 1, add(3, k)), {})
    assert not surely_runs(loop("k", 0, 0, add(3, k)), {})
    assert not surely_runs(loop("k", 0, m, add(3, k)), {})
    assert surely_runs(loop("k", 0, m, add(3, k)), {"m": (1, None)})


def test_a_place_that_is_read() -> None:
    assert places(loop("k", 0, 9, add(load("q", 0, dtype=i64), k))) == ["q[0]"]
    assert places(loop("k", 0, 9, add(load("q", k, dtype=i64), k))) is None
    assert places(loop("k", 0, 9, add(load("y", 0, dtype=i64), k))) is None  # it is written


@pytest.mark.parametrize(("apart", "count"), [(7, 0), (8, 2), (-7, 0), (-8, 2)])
def test_vectors_that_overlap_stay_in_memory(apart: int, count: int) -> None:
    made = line(loop("k", 0, 9, lanes(add(v + 16, v + k)), lanes(add(v + 16 + apart, v))))
    found = places(made.body)
    assert (0 if found is None else len(found)) == count
    assert_runs_as_interpreted(made)


def test_threads_keep_their_hands_off_registers_outside() -> None:
    inner = loop("i", 0, 2, add(9, i))
    threads = replace(inner, kind=LoopKind.PARALLEL)
    assert places(loop("k", 0, 9, add(3, k), threads)) is None
    assert places(loop("k", 0, 9, add(3, k), inner)) == ["3", "9"]


@pytest.mark.parametrize(
    "body",
    [
        loop("k", 0, 9, add(k, k)),  # the place moves
        loop("k", 0, 9, lanes(add(v, k)), add(3, k)),  # an element inside a vector
        loop("k", 0, 9, lanes(add(v, k)), lanes(add(v + 4, k))),  # vectors that overlap
        loop("k", 0, 9, lanes(add(2 * v, k))),  # no contiguous vector
        loop("k", 0, 9, add(3, k), assign("y", (k,), load("x", k, dtype=i32))),  # one unknown
        loop("k", 0, 9, If(k < 4, add(3, k))),  # perhaps never touched
        loop("k", 0, 9, lanes(add(v, k)), lanes(add(v, k), upper=7)),  # two masks of one place
    ],
    ids=["moves", "inside", "overlap", "strided", "unknown", "guarded", "masks"],
)
def test_what_stays_in_memory(body: LoopNode) -> None:
    made = line(body)
    assert places(made.body) is None
    assert_runs_as_interpreted(made)


def test_other_places_may_be_touched_if_they_stay_clear() -> None:
    """As in a factorization, which reads what it has finished of the array that it updates."""
    done = load("y", k, dtype=i32)
    update = assign("y", (m,), load("y", m, dtype=i32) - done * load("y", m - 1 - k, dtype=i32))
    assert places(loop("k", 0, m, update)) == ["m"]
    assert places(loop("k", 0, m + 1, update)) is None
    assert places(loop("k", 0, m, update), needs_memory=False) is None
    stored = loop("k", 0, m, update, assign("y", (k,), load("x", k, dtype=i32)))
    assert places(stored) == ["m"]
    made = line(stored, context="[m] -> { : 0 <= m <= 60 }")
    for value in (0, 1, 7):
        assert_runs_as_interpreted(made, m=value)


def test_vectors_beside_which_the_array_is_read() -> None:
    done = load("y", k, dtype=i32)
    update = assign("y", (m + v,), load("y", m + v, dtype=i32) - done * load("x", v, dtype=i32))
    assert places(loop("k", 0, m, lanes(update))) == ["m"]
    assert places(loop("k", 0, m + 1, lanes(update))) is None
    assert places(loop("k", m + 8, 2 * m, lanes(update))) == ["m"]
    assert places(loop("k", m + 7, 2 * m, lanes(update))) is None
    made = line(loop("k", 0, m, lanes(update)), context="[m] -> { : 0 <= m <= 50 }")
    for value in (0, 1, 9):
        assert_runs_as_interpreted(made, m=value)


def test_a_part_that_may_be_touched_elsewhere_stays_in_memory() -> None:
    sometimes = If(k < 4, assign("y", (m - k,), load("x", k, dtype=i32)))
    assert places(loop("k", 1, 9, add(m, k), sometimes)) == ["m"]
    assert places(loop("k", 0, 9, add(m, k), sometimes)) is None


def test_budget() -> None:
    region = loop("k", 0, 9, add(1, k), add(2, k), add(3, k))
    assert places(region, budget=3) == ["1", "2", "3"]
    assert places(region, budget=2) is None


def test_lanes_along_another_dimension() -> None:
    """Of an array whose columns are contiguous, vectors lie along the first dimension."""
    part = lanes(add(v, k))
    down, across = Access("y", (v + 8, i)), Access("y", (i, v))
    found = slot_of(down, part, needs_memory=True, along=-2)
    assert found == Slot(
        "y",
        (linear_form(Constant(8), {}), linear_form(i, {})),
        Lanes(Constant(0), Constant(8), 1, 8),
    )
    assert slot_of(down, part, needs_memory=True) is None
    assert slot_of(across, part, needs_memory=True, along=-2) is None
    assert slot_of(Access("y", (v, v)), part, needs_memory=True, along=-2) is None
