"""What a picture that is too large proposes, followed."""

from __future__ import annotations

import re

import pytest

from polysched.errors import PlotError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.plot.picture import picture
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule


def cube(extent: int | None) -> Schedule:
    """Assignments to a cube of a literal extent, or of one that is a parameter."""
    build = KernelBuilder("cube")
    n = build.parameter("n", minimum=1) if extent is None else extent
    x = build.output("x", f32, (n, n, n))
    with build.loops(a=n, b=n, c=n) as (a, b, c), build.statement("S"):
        x[a, b, c] = 1
    return Schedule(build.kernel())


def refusal(schedule: Schedule, view: View) -> str:
    with pytest.raises(PlotError) as caught:
        picture(schedule, view)
    return str(caught.value)


def test_an_index_of_this_kernel_is_fixed() -> None:
    message = refusal(cube(90), View())
    assert message == (
        "the domain of statement 'S' is too large to plot: 729,000 instances; "
        "fix 'c' (at={'c': 0}, or --at c=0)"
    )
    assert picture(cube(90), View(at={"c": 0})).fixed == {"c": 0}


def test_a_parameter_of_this_kernel_is_made_smaller() -> None:
    message = refusal(cube(None), View(sizes={"n": 90}))
    assert "; use a smaller 'n' than 90 (--size n=...), or fix 'c' (at={'c': 0}, " in message
    assert picture(cube(None), View(sizes={"n": 9})).parameters == {"n": 9}
    message = refusal(cube(None), View(sizes={"n": 150}, at={"a": 2}))
    assert message.endswith("expected at most 10,000: use a smaller 'n' than 150 (--size n=...)")


def test_where_nothing_helps_but_another_kernel() -> None:
    build = KernelBuilder("square")
    x = build.output("x", f32, (300, 300))
    with build.loops(i=300, j=300) as (i, j), build.statement("S"):
        x[i, j] = 1
    message = refusal(Schedule(build.kernel()), View())
    assert message.endswith("at most 10,000: declare the kernel with smaller sizes")
    assert not re.search("--size|--at", message)
