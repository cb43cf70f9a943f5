import pytest

from polysched.errors import CallError, PlotError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.functions import equal
from polysched.legality.check import check
from polysched.plot.dimensions import tile_loops
from polysched.plot.sizes import chosen_sizes, shows
from polysched.schedule.schedule import Schedule
from tests.support.kernels import grid, matmul, seidel, seidel_plane


def sizes(schedule: Schedule, given: dict[str, int] | None = None) -> dict[str, int]:
    program = schedule.program
    shown = tuple(program.kernel.statements)
    tile = {name: tile_loops(program, name) for name in shown}
    return chosen_sizes(program, shown, {}, tile, given or {}, check(schedule).violation)


def test_eight_where_nothing_asks_for_more() -> None:
    assert sizes(Schedule(grid())) == {"n": 8, "m": 8}
    assert sizes(Schedule(grid(4, 5))) == {}


def test_what_is_given_is_kept() -> None:
    assert sizes(Schedule(grid()), {"m": 3}) == {"n": 8, "m": 3}
    assert sizes(Schedule(grid()), {"m": 3, "n": 1}) == {"n": 1, "m": 3}


def test_two_tiles_in_each_direction() -> None:
    assert sizes(Schedule(grid()).tile(("i", "j"), (4, 16))) == {"n": 18, "m": 18}


def test_tiles_too_large_to_be_shown() -> None:
    assert sizes(Schedule(grid()).tile(("i", "j"), (4, 512))) == {"n": 8, "m": 8}


def constrained(condition: str) -> Kernel:
    build = KernelBuilder("constrained")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    build.assume({"multiple": equal(n % 5, 0), "below": n + m <= 6, "above": n >= 100}[condition])
    x = build.inout("x", i32, (n, m))
    with build.loops(i=n, j=m) as (i, j), build.statement("S"):
        x[i, j] = 1
    return build.kernel()


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("multiple", {"n": 10, "m": 8}),
        ("below", {"n": 5, "m": 1}),
        ("above", {"n": 100, "m": 8}),
    ],
)
def test_the_context_is_kept(condition: str, expected: dict[str, int]) -> None:
    assert sizes(Schedule(constrained(condition))) == expected


def test_many_dimensions_make_smaller_sizes() -> None:
    build = KernelBuilder("deep")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", i32, (n, n, n, n, n))
    with build.loops(a=n, b=n, c=n, d=n, e=n) as (a, b, c, d, e), build.statement("S"):
        x[a, b, c, d, e] = 1
    assert sizes(Schedule(build.kernel())) == {"n": 5}


def test_a_witness_is_shown_at_larger_sizes_if_it_is_one_there() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    violation = check(schedule).violation
    assert violation is not None
    assert violation.witness.parameters == (("t", 2), ("n", 4))
    assert sizes(schedule) == {"t": 8, "n": 8}
    assert shows(schedule.program, violation, {"t": 2, "n": 4})
    assert shows(schedule.program, violation, {"t": 3, "n": 9})
    assert not shows(schedule.program, violation, {"t": 1, "n": 9})
    assert not shows(schedule.program, violation, {"t": 9, "n": 3})


def test_a_witness_that_only_larger_sizes_have() -> None:
    schedule = Schedule(seidel_plane()).tile(("s", "i", "j"), (2, 8, 8))
    violation = check(schedule).violation
    assert violation is not None
    smallest = dict(violation.witness.parameters)
    chosen = sizes(schedule)
    assert all(chosen[name] >= value for name, value in smallest.items())
    assert shows(schedule.program, violation, chosen)


def test_sizes_given_may_hide_the_witness() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert sizes(schedule, {"t": 1}) == {"t": 1, "n": 8}


def test_a_reversed_loop_runs_the_witness_at_other_times_but_shows_it() -> None:
    schedule = Schedule(seidel()).reverse("i")
    violation = check(schedule).violation
    assert violation is not None
    assert shows(schedule.program, violation, sizes(schedule))


def test_bad_sizes() -> None:
    with pytest.raises(PlotError, match="kernel 'matmul' has no parameter 'x'; known are 'k', 'm'"):
        sizes(Schedule(matmul()), {"x": 4})
    with pytest.raises(CallError, match="n = 0 violates "):
        sizes(Schedule(seidel()), {"n": 0})
    with pytest.raises(CallError, match="t = 3, n = 0 violates "):
        sizes(Schedule(seidel()), {"n": 0, "t": 3})
