"""Pictures of domains that are too large: a part is shown, and the picture says which."""

from __future__ import annotations

import pytest

from polysched.errors import PlotError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.plot.part import READABLE
from polysched.plot.picture import Picture, picture
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule
from tests.support.kernels import seidel


def cube(extent: int | None) -> Schedule:
    """Assignments to a cube of a literal extent, or of one that is a parameter."""
    build = KernelBuilder("cube")
    n = build.parameter("n", minimum=1) if extent is None else extent
    x = build.output("x", f32, (n, n, n))
    with build.loops(a=n, b=n, c=n) as (a, b, c), build.statement("S"):
        x[a, b, c] = 1
    return Schedule(build.kernel())


def points_of(shown: Picture) -> int:
    return sum(dot.instances for dot in shown.dots)


def test_a_part_of_a_literal_cube() -> None:
    shown = picture(cube(900))
    assert shown.dimensions == ("a", "b")
    assert set(shown.fixed) == {"a", "b", "c"}
    assert 0 < points_of(shown) <= READABLE
    assert shown.notes[0].startswith(
        "a part: the domain of statement 'S' is too large to plot as a whole: a box of 729,000,000"
    )
    # The axes keep more values than the index that is projected out.
    ranges = {name: values for name, values in shown.fixed.items() if isinstance(values, range)}
    assert min(len(ranges["a"]), len(ranges["b"])) > len(ranges["c"]) == 2


def test_the_note_names_the_next_part() -> None:
    first = picture(cube(900))
    values = first.fixed["a"]
    assert isinstance(values, range)
    following = range(values.stop, values.stop + len(values))
    assert (
        f"at={{'a': {following}}}, or --at a={following.start}:{following.stop}" in first.notes[1]
    )
    second = picture(cube(900), View(at={"a": following}))
    assert {dot.place[0] for dot in second.dots} <= set(following)
    assert points_of(second) > 0


def test_given_sizes_and_values_stay() -> None:
    shown = picture(cube(None), View(sizes={"n": 500}, at={"c": 7}))
    assert (shown.parameters, shown.fixed["c"]) == ({"n": 500}, 7)
    assert "c" not in shown.projected
    assert 0 < points_of(shown) <= READABLE


def test_too_many_dots() -> None:
    build = KernelBuilder("square")
    x = build.output("x", f32, (300, 300))
    with build.loops(i=300, j=300) as (i, j), build.statement("S"):
        x[i, j] = 1
    shown = picture(Schedule(build.kernel()))
    assert 0 < len(shown.dots) <= READABLE
    assert shown.notes[0].startswith("a part: the whole picture has 90,000 dots")


def test_the_part_of_a_triangle_has_instances() -> None:
    build = KernelBuilder("far")
    x = build.output("x", f32, (5000, 5000))
    with build.loops(i=5000) as i, build.loops(j=(4999 - i, 5000)) as j, build.statement("S"):
        x[i, j] = 1
    shown = picture(Schedule(build.kernel()))
    assert 0 < points_of(shown) <= READABLE
    assert (0, 4999) in {dot.place for dot in shown.dots}


def test_the_witness_is_in_the_part() -> None:
    schedule = Schedule(seidel(400, 4000)).reorder("i", "s")
    shown = picture(schedule)
    assert shown.verdict.violation is not None
    assert len(shown.marks) == 2
    assert points_of(shown) <= READABLE


def test_ranges_have_step_one() -> None:
    with pytest.raises(PlotError, match="the values of 'a' are range.0, 9, 2.; expected a range"):
        View(at={"a": range(0, 9, 2)})
