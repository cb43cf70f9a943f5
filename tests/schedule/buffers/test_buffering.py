"""What a buffer is about: which pairs of a dependence lie in one of its tiles."""

import islpy as isl
import pytest

from polysched.schedule.buffers.buffering import plan_buffer
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def collapsed() -> Schedule:
    return (
        Schedule(kernels.seidel_plane(3, 7, 8))
        .split("i", 2)
        .reorder("s", "io", "j", "ii")
        .collapse("s", "io", "both")
    )


@pytest.mark.parametrize(
    ("schedule", "at"),
    [
        (Schedule(kernels.prefix()).split("i", 4), "io"),
        (Schedule(kernels.prefix()).split("i", 4).reverse("io"), "io"),
        (Schedule(kernels.seidel_plane(3, 7, 8)).split("j", 4), "jo"),
        (collapsed(), "both"),
        (collapsed(), "j"),
    ],
    ids=["chunks", "reversed", "inner", "collapsed", "inside of collapsed"],
)
def test_pairs_of_one_tile_and_of_two(schedule: Schedule, at: str) -> None:
    program = schedule.program
    (statement, *_) = program.statements.values()
    plan = plan_buffer(program, statement.target.array, at, "buffer", None)
    around = len(plan.around)
    tiles = {
        one: relation.project_out(isl.dim_type.out, around, len(plan.element_names))
        for one, relation in plan.redirect.items()
    }
    others = 0
    for dependence in program.dependences:
        if {dependence.source, dependence.sink} <= set(tiles):
            in_one = tiles[dependence.source].apply_range(tiles[dependence.sink].reverse())
            same, other = plan.same_tile(dependence), plan.other_tile(dependence)
            assert same.is_equal(dependence.relation.intersect(in_one))
            assert other.is_equal(dependence.relation.subtract(in_one))
            others += not other.is_empty()
    assert others
