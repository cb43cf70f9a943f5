import pytest

from polysched.dependence.relations import DependenceKind
from polysched.errors import CallError, PlotError
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import VerdictKind
from polysched.plot.picture import picture
from polysched.plot.symbols import Arrow, Dot, Mark
from polysched.plot.view import Color, View
from polysched.schedule.schedule import Schedule
from tests.support.kernels import blur, chain, grid, matmul, prefix, scalars, seidel


def test_everything_of_a_small_schedule() -> None:
    schedule = Schedule(prefix(4)).reverse("i")
    shown = picture(schedule)
    assert shown.kernel == "prefix"
    assert shown.verdict.kind is VerdictKind.ILLEGAL
    assert (shown.statements, shown.dimensions) == (("S",), ("i",))
    assert (shown.parameters, shown.fixed, shown.projected) == ({}, {}, ())
    assert shown.dots == tuple(Dot("S", (3 - rank,), 1, rank, ()) for rank in range(3))
    assert shown.arrows == (
        Arrow((1,), (2,), "S", "S", "flow"),
        Arrow((2,), (3,), "S", "S", "flow"),
    )
    assert shown.marks == (Mark("S", (1,), "S[1]"), Mark("S", (2,), "S[2]"))
    assert shown.notes == ("statement first has no i and is not shown",)


def test_tiles() -> None:
    shown = picture(Schedule(grid(4, 4)).tile(("i", "j"), (2, 2)), View(color=Color.TILE))
    assert shown.tile == ("io", "jo")
    assert {dot.place: dot.tile for dot in shown.dots} == {
        (i, j): (i // 2, j // 2) for i in range(4) for j in range(4)
    }
    assert [dot.tile for dot in shown.dots] == sorted(dot.tile for dot in shown.dots)


def test_tiles_of_loops_that_are_named() -> None:
    shown = picture(Schedule(grid(4, 4)), View(color=Color.TILE, tile=("i",)))
    assert {dot.place: dot.tile for dot in shown.dots} == {
        (i, j): (i,) for i in range(4) for j in range(4)
    }


def test_tiles_of_a_loop_with_the_name_of_an_index() -> None:
    vectors = Schedule(grid(4, 8)).vectorize("j", 4)
    (counting,) = (loop for loop in path(vectors.program.tree, "S")[1:] if loop.lanes == 1)
    assert counting.name == "j"
    shown = picture(vectors, View(color=Color.TILE))
    assert {dot.place: dot.tile for dot in shown.dots} == {
        (i, j): (j // 4,) for i in range(4) for j in range(8)
    }


def test_other_dimensions_are_projected_or_fixed() -> None:
    schedule = Schedule(matmul(2, 3, 4))
    projected = picture(schedule, View(statements=("update",), dimensions=("l", "j")))
    assert projected.projected == ("i",)
    assert {dot.instances for dot in projected.dots} == {2}
    assert len(projected.arrows) == 3 * 3 * 3
    fixed = picture(schedule, View(statements=("update",), dimensions=("l", "j"), at={"i": 1}))
    assert (fixed.projected, fixed.fixed) == ((), {"i": 1})
    assert {dot.instances for dot in fixed.dots} == {1}
    assert fixed.arrows == projected.arrows


def test_dependences_within_a_dot_are_counted() -> None:
    shown = picture(Schedule(matmul(2, 3, 4)), View(dimensions=("i", "j")))
    assert shown.notes == ("54 dependences relate instances within one dot",)
    assert {arrow.source for arrow in shown.arrows} == {"init"}


def test_only_the_wanted_kinds_of_dependences() -> None:
    schedule = Schedule(seidel(3, 5))
    assert {arrow.kind for arrow in picture(schedule).arrows} == {"flow", "anti", "output"}
    anti = picture(schedule, View(arrows=(DependenceKind.ANTI,)))
    assert {arrow.kind for arrow in anti.arrows} == {"anti"}
    assert picture(schedule, View(arrows=())).arrows == ()


def test_dependences_of_a_packed_schedule_are_those_of_the_kernel() -> None:
    schedule = Schedule(matmul(2, 3, 4, order="exact"))
    view = View(statements=("update",), dimensions=("j", "l"))
    packed = schedule.pack("b", at="update.i")
    assert picture(packed, view).arrows == picture(schedule, view).arrows


def test_statements_that_a_step_made_have_dots_and_no_arrows() -> None:
    packed = Schedule(matmul(2, 3, 4, order="exact")).pack("b", at="update.i")
    (made,) = set(packed.program.statements) - set(packed.kernel.statements)
    shown = picture(packed, View(statements=(made,)))
    assert sum(dot.instances for dot in shown.dots) >= 12
    assert shown.arrows == ()


def test_arrows_are_capped() -> None:
    sweeps, width = 24, 22
    shown = picture(Schedule(seidel(sweeps, width + 2)))
    along, across, inclined = (
        sweeps * (width - 1),
        (sweeps - 1) * width,
        (sweeps - 1) * (width - 1),
    )
    total = 2 * (along + across + inclined) + across  # flow and anti, then output
    assert len(shown.arrows) == 1000
    assert shown.notes == (f"the first 1,000 of {total:,} arrows are shown",)


def test_the_shown_statements_are_those_with_both_dimensions() -> None:
    shown = picture(Schedule(matmul(2, 2, 2)), View(dimensions=("i", "l")))
    assert shown.statements == ("update",)
    assert shown.notes[0] == "statement init has no l and is not shown"


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(seidel()).reorder("i", "s"),
        Schedule(seidel()).tile(("s", "i"), (2, 4)),
        Schedule(seidel()).vectorize("i", 4),
        Schedule(prefix()).split("i", 3).reverse("io"),
        Schedule(blur()).fuse("P.i", "C.i"),
    ],
    ids=lambda schedule: schedule.trace(),
)
def test_the_sink_of_a_witness_does_not_run_after_the_source(schedule: Schedule) -> None:
    shown = picture(schedule)
    order = {(dot.statement, dot.place): dot.order for dot in shown.dots}
    source, sink = ((mark.statement, mark.place) for mark in shown.marks)
    assert order[sink] <= order[source]
    assert source != sink


def test_parallel_loops_are_told() -> None:
    shown = picture(Schedule(grid(4, 4)).parallel("i"))
    assert shown.notes == ("loop i is parallel: its iterations may run in any order",)


def test_a_verdict_that_is_known_is_not_asked_again() -> None:
    schedule = Schedule(prefix(4)).reverse("i")
    legal = check(Schedule(prefix(4)))
    assert picture(schedule, verdict=legal).verdict is legal
    assert picture(schedule, verdict=legal).marks == ()


def test_a_fault_of_the_kernel_is_marked() -> None:
    build = KernelBuilder("outside")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n,)), build.output("y", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        y[i] = x[i + 1]
    shown = picture(Schedule(build.kernel()).split("i", 4))
    assert shown.verdict.kind is VerdictKind.ILLEGAL
    assert shown.marks == (Mark("S", (0,), "S[0]"),)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        (View(statements=("T",)), "no statement 'T'; known are 'C', 'P'"),
        (View(dimensions=("k",)), "no dimension 'k' of statement 'P' or 'C'"),
        (View(at={"k": 0}), "no fixed dimension 'k' of statement 'P' or 'C'"),
        (View(color=Color.TILE, tile=("io",)), "no loop 'io' of statement 'P' or 'C'"),
        (View(color=Color.TILE), "no tile loop around 'P' or 'C': split or tile a loop"),
        (View(sizes={"k": 0}), "kernel 'chain' has no parameter 'k'"),
        (View(sizes={"n": 0}), "no instance of 'P' or 'C' to plot at n = 0, m = 1"),
        (View(at={"i": 9}, sizes={"n": 8}), "no instance of .* to plot at n = 8, m = 1, i = 9"),
    ],
)
def test_bad_views(view: View, message: str) -> None:
    with pytest.raises(PlotError, match=message):
        picture(Schedule(chain()), view)


def test_no_statement_has_both_dimensions() -> None:
    build = KernelBuilder("apart")
    x, y = build.inout("x", i32, (4,)), build.inout("y", i32, (4,))
    with build.loops(i=4) as i, build.statement("S"):
        x[i] = 1
    with build.loops(j=4) as j, build.statement("T"):
        y[j] = 1
    with pytest.raises(
        PlotError, match="no statement has both dimensions 'i' and 'j': S has no 'j', T has no 'i'"
    ):
        picture(Schedule(build.kernel()), View(dimensions=("i", "j")))


def test_statements_outside_loops_cannot_be_plotted() -> None:
    with pytest.raises(PlotError, match="'zero' has no free index to plot; expected a statement"):
        picture(Schedule(scalars()), View(statements=("zero",)))


def test_sizes_must_satisfy_the_context() -> None:
    with pytest.raises(CallError, match="n = 0 violates n >= 1"):
        picture(Schedule(blur()), View(sizes={"n": 0}))


def test_a_fault_of_a_kernel_whose_statements_have_got_copies_for_tiles() -> None:
    build = KernelBuilder("outside")
    x, t = build.input("x", i32, (3,)), build.temporary("t", i32, (4,))
    y = build.output("y", i32, (4,))
    with build.loops(i=4) as i, build.statement("P"):
        t[i] = x[i]
    with build.loops(i=4) as i, build.statement("C"):
        y[i] = t[i]
    tiles = Schedule(build.kernel()).split("C.i", 2).compute_at("P", at="io", recompute=True)
    shown = picture(tiles)
    assert shown.verdict.violation is not None
    assert shown.verdict.violation.in_kernel
    assert shown.notes[-1] == "P[3] of the witness is not in the picture"
