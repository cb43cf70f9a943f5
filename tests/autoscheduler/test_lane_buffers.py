"""Lanes across rows: buffers whose copies transpose, and recurrences over whole rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.forms.normalize import normalized
from polysched.autoscheduler.recipes.lane_buffers import lane_buffers
from polysched.autoscheduler.recipes.row_sweeps import row_sweeps
from polysched.frontends.scop import parse_c
from polysched.ir.core.tree import LoopKind, loops
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

ALONG_ROWS = """
void filter(int h, int w, const double x[restrict h][w], double y[restrict h][w])
{
    for (int i = 0; i < h; i++) {
        double s = 0.0;
        for (int j = 0; j < w; j++) {
            y[i][j] = x[i][j] + 0.5 * s;
            s = y[i][j];
        }
    }
}
"""
DOWN_COLUMNS = """
void filter(int h, int w, const double x[restrict h][w], double y[restrict h][w])
{
    for (int j = 0; j < w; j++) {
        double s = 0.0;
        for (int i = 0; i < h; i++) {
            y[i][j] = x[i][j] + 0.5 * s;
            s = y[i][j];
        }
    }
}
"""
NO_RECURRENCE = """
void copy(int h, int w, const double x[restrict h][w], double y[restrict h][w])
{
    for (int i = 0; i < h; i++)
        for (int j = 0; j < w; j++)
            y[i][j] = 0.5 * x[i][j];
}
"""

TRANSFORM = """
void hadamard(int n, float x[restrict n][8])
{
    for (int r = 0; r < n; r++) {
        float a[8], b[8];
        for (int j = 0; j < 4; j++) {
            a[j] = x[r][j] + x[r][j + 4];
            a[j + 4] = x[r][j] - x[r][j + 4];
        }
        for (int h = 0; h < 8; h += 4)
            for (int j = 0; j < 2; j++) {
                b[h + j] = a[h + j] + a[h + j + 2];
                b[h + j + 2] = a[h + j] - a[h + j + 2];
            }
        for (int j = 0; j < 8; j += 2) {
            x[r][j] = b[j] + b[j + 1];
            x[r][j + 1] = b[j] - b[j + 1];
        }
    }
}
"""


def proposals(
    schedule: Schedule, recipe: Callable[[Situation], Iterable[Proposal]]
) -> list[Proposal]:
    sizes = model_sizes(schedule.kernel, None)
    return [
        proposal
        for nest in outer_nests(schedule.program.tree)
        for proposal in recipe(Situation(schedule, nest, PRESETS["skylake-avx512"], sizes))
    ]


def test_the_bound_from_facts_is_below_the_predicted_cycles() -> None:
    """A proposal that the bound rules out would not have been taken."""
    schedule = normalized(Schedule(parse_c(ALONG_ROWS).kernel), {"h": 1000, "w": 1000})[0]
    machine, sizes = PRESETS["skylake-avx512"], model_sizes(schedule.kernel, None)
    count = 0
    for nest in outer_nests(schedule.program.tree):
        given = Situation(schedule, nest, machine, sizes)
        for proposal in lane_buffers(given):
            program = after(schedule, proposal).program
            changed = [
                name
                for name in program.statements
                if name in nest.statements or name not in schedule.program.statements
            ]
            cycles = sum(
                one.cycles for one in program_costs(program, changed, machine, sizes).values()
            )
            again = replace(given, most_cycles=cycles)
            assert proposal in list(lane_buffers(again))
            count += 1
        assert list(lane_buffers(replace(given, most_cycles=1.0))) == []
    assert count


def after(schedule: Schedule, proposal: Proposal) -> Schedule:
    for step in proposal.steps:
        schedule = schedule.then(step)
    return schedule


def test_rows_become_columns_of_buffers() -> None:
    schedule = Schedule(parse_c(ALONG_ROWS).kernel)
    found = proposals(schedule, lane_buffers)
    assert [proposal.steps[-1] for proposal in found] == [
        Vectorize("s.il", 16),
        Vectorize("s.il", 8),
    ]
    for proposal in found:
        kinds = [type(step) for step in proposal.steps]
        assert kinds.count(Pack) == 1
        assert kinds.count(Promote) == 1
        assert kinds.count(Transpose) == 2
    changed = after(schedule, found[1])
    assert check(changed).is_legal
    assert_agrees(changed, {"h": 1, "w": 1}, {"h": 11, "w": 9})


def test_a_transform_of_a_few_elements_is_written_out_for_lanes_of_rows() -> None:
    schedule = Schedule(parse_c(TRANSFORM).kernel)
    found = proposals(schedule, lane_buffers)
    assert found
    for proposal in found:
        changed = after(schedule, proposal)
        inside = [loop for loop in loops(changed.program.tree) if "a" in loop.statements]
        short = [loop for loop in loops(changed.program.tree) if loop.name in "hj"]
        assert any(loop.kind is LoopKind.VECTOR for loop in inside)
        assert short
        assert all(loop.kind is LoopKind.UNROLLED for loop in short)
    assert check(changed).is_legal
    assert_agrees(changed, {"n": 1}, {"n": 21})


def test_no_buffers_where_lanes_may_run_along_the_row() -> None:
    assert proposals(Schedule(parse_c(NO_RECURRENCE).kernel), lane_buffers) == []


def test_no_buffers_where_lanes_are_neighbors() -> None:
    assert proposals(Schedule(parse_c(DOWN_COLUMNS).kernel), lane_buffers) == []


def test_a_recurrence_down_columns_takes_whole_rows() -> None:
    schedule = Schedule(parse_c(DOWN_COLUMNS).kernel)
    alone, _ = normalized(schedule, model_sizes(schedule.kernel, None))
    (found,) = proposals(alone, row_sweeps)
    assert [type(step) for step in found.steps] == [Reorder, Vectorize]
    changed = after(alone, found)
    assert check(changed).is_legal
    assert_agrees(changed, {"h": 1, "w": 1}, {"h": 5, "w": 11})


def test_a_recurrence_along_rows_takes_no_whole_rows() -> None:
    schedule = Schedule(parse_c(ALONG_ROWS).kernel)
    alone, _ = normalized(schedule, model_sizes(schedule.kernel, None))
    assert proposals(alone, row_sweeps) == []


def test_temporaries_that_several_nests_share_are_privatized_in_each() -> None:
    text = """
    void twice(int h, int w, const double x[restrict h][w], double y[restrict h][w])
    {
        double s;
        for (int j = 0; j < w; j++) {
            s = 0.0;
            for (int i = 0; i < h; i++) {
                y[i][j] = x[i][j] + 0.5 * s;
                s = y[i][j];
            }
        }
        for (int j = 0; j < w; j++) {
            s = 0.0;
            for (int i = 0; i < h; i++) {
                y[i][j] = y[i][j] + 0.5 * s;
                s = y[i][j];
            }
        }
    }
    """
    schedule = Schedule(parse_c(text).kernel)
    found = optimize_schedule(schedule, PRESETS["skylake-avx512"])
    assert found.verdict.is_legal
    assert found.after.cycles < 0.25 * found.before.cycles
    assert_agrees(found.schedule, {"h": 1, "w": 1}, {"h": 5, "w": 11})
