"""The schedule tree as isl prints it."""

import islpy as isl

from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.loops.isl_ast.test_equal_neighbors import in_turn
from tests.support import kernels


def test_bands_are_marked_with_their_loops() -> None:
    text = show(Schedule(kernels.grid()).tile(("i", "j"), (4, 8)).parallel("io"), "tree")
    assert 'mark: "parallel io, jo, ii, ji"' in text
    assert "floor((i)/4)" in text


def test_equal_neighbors_are_all_there() -> None:
    """isl generates the loops of equal neighbors once; the printed tree has all statements."""
    schedule = Schedule(in_turn(3, apart=True))
    text = show(schedule, "tree")
    filters = [line for line in text.splitlines() if line.lstrip().startswith("- filter")]
    assert len(filters) == 3
    assert all(any(f"{name}[" in line for line in filters) for name in schedule.kernel.statements)


def test_isl_reads_it() -> None:
    schedule = Schedule(kernels.grid()).tile(("i", "j"), (4, 8))
    tree = isl.Schedule.read_from_str(isl.DEFAULT_CONTEXT, show(schedule, "tree"))
    assert tree.get_domain().is_equal(isl.UnionSet.from_set(schedule.kernel.statements["S"].domain))
