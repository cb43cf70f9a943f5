"""Against enumeration: the pairs of a part, and the values of the loops at both their ends."""

from collections.abc import Iterable

import islpy as isl
import numpy as np
import pytest

from polysched.dependence.carried import Part, common_loops, parts
from polysched.ir.core.tree import Loop, executed
from polysched.ir.semantics.points import points, values
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel, triangular_solve
from tests.legality.test_check import seidel_with_copy

SCHEDULES = {
    "matmul": Schedule(matmul()),
    "seidel": Schedule(seidel()),
    "seidel tiled": Schedule(seidel()).tile(("t", "i"), (2, 3)),
    "triangular solve": Schedule(triangular_solve()),
    "fused": Schedule(producer_consumer(1)).fuse("P.i", "C.i"),
    "distributed": Schedule(seidel_with_copy()).distribute("i"),
    "lanes": Schedule(copy_shifted(0, 1)).vectorize("j", 4),
    "reordered": Schedule(copy_shifted(1, -1)).reorder("j", "i"),
}
SIZES = {"N": 7, "M": 9, "T": 4}


def parts_of(name: str) -> list[Part]:
    program = SCHEDULES[name].program
    tree = executed(program.tree)
    return [part for dependence in program.dependences for part in parts(dependence, tree)]


def iterations(part: Part, loops: Iterable[Loop]) -> tuple[np.ndarray, np.ndarray]:
    """The values of loops at the sources and at the sinks of a part: shape (pairs, loops)."""
    rows = points(part.pairs.wrap().flatten(), SIZES)
    rank = part.pairs.dim(isl.dim_type.in_)
    dependence = part.dependence
    source, sink = (
        np.array([values(loop.values[end.statement], where, SIZES) for loop in loops]).T
        for end, where in ((dependence.source, rows[:, :rank]), (dependence.sink, rows[:, rank:]))
    )
    return source, sink


@pytest.mark.parametrize("name", SCHEDULES)
def test_each_pair_is_in_one_part(name: str) -> None:
    program = SCHEDULES[name].program
    for dependence in program.dependences:
        union = isl.Map.empty(dependence.relation.get_space())
        for part in parts(dependence, executed(program.tree)):
            assert not part.pairs.is_empty()
            assert part.pairs.is_disjoint(union)
            union = union.union(part.pairs)
        assert union.is_equal(dependence.relation)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_loop_is_the_first_that_differs(name: str) -> None:
    for part in parts_of(name):
        outside = part.around[: part.around.index(part.loop)] if part.loop else part.around
        if outside:
            source, sink = iterations(part, outside)
            assert (source == sink).all()
        if part.loop:
            source, sink = iterations(part, (part.loop,))
            assert source.size
            assert (source > sink if part.backwards else source < sink).all()


@pytest.mark.parametrize("name", SCHEDULES)
def test_distances_hold_for_all_pairs(name: str) -> None:
    for part in parts_of(name):
        if part.around:
            source, sink = iterations(part, part.around)
            for column, (low, high) in zip((sink - source).T, part.distances(), strict=True):
                assert low is None or low <= column.min()
                assert high is None or column.max() <= high


def carriers(name: str) -> set[tuple[str | None, bool]]:
    return {(part.loop and part.loop.name, part.backwards) for part in parts_of(name)}


def test_program_order_has_nothing_backwards() -> None:
    assert carriers("seidel") == {("t", False), ("i", False)}
    assert carriers("triangular solve") == {("i", False), ("j", False), (None, False)}


def test_what_a_schedule_turns_round() -> None:
    assert carriers("reordered") == {("j", True)}
    assert carriers("fused") == {("i", True), (None, False)}
    assert (None, True) in carriers("distributed")


def test_lanes_carry_what_is_inside_one_vector() -> None:
    assert carriers("lanes") == {("j", False), ("jv", False)}


def test_common_loops() -> None:
    tree = SCHEDULES["triangular solve"].program.tree
    assert [loop.name for loop in common_loops(tree, "init", "eliminate")] == ["i"]
    assert [loop.name for loop in common_loops(tree, "eliminate", "eliminate")] == ["i", "j"]
    assert common_loops(SCHEDULES["matmul"].program.tree, "init", "update") == ()
