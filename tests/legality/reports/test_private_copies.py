"""Reports name the temporaries whose private copies make a loop parallel or a vector."""

import pytest

import polysched as ps
from polysched.legality.reports.loop_reports import explained


def scalars(*, carries: bool) -> ps.Schedule:
    """Two scalars that each iteration overwrites, or that the second one sums up."""
    build = ps.KernelBuilder("scalars")
    n = build.parameter("n", minimum=3)
    x, y = build.input("x", ps.f64, (n, n)), build.output("y", ps.f64, (n, n))
    once, twice = (build.temporary(name, ps.f64, ()) for name in ("once", "twice"))
    with build.statement("start"):
        twice[()] = 0.0
    with build.loops(i=n, j=n) as (i, j):
        with build.statement("once"):
            once[()] = x[i, j] * 2
        with build.statement("twice"):
            twice[()] = once[()] * 3 + (twice[()] if carries else 0.0)
        with build.statement("y"):
            y[i, j] = once[()] * twice[()]
    return ps.Schedule(build.kernel())


def test_temporaries_that_every_iteration_overwrites() -> None:
    text = scalars(carries=False).explain()
    for answer in ("parallel: yes", "vector: yes", "permutable with j: yes"):
        assert f"  {answer}, with private copies of once, twice\n" in text
    assert "hint: privatize('once', at='j') or promote makes private copies" in text


def test_a_temporary_that_carries_a_value() -> None:
    for report in explained(scalars(carries=True)):
        assert report.private == ("once",)
    text = scalars(carries=True).explain()
    assert "parallel: no, also with private copies of once\n    flow on twice" in text
    assert "hint: privatize" not in text


def test_loops_without_obstacles_need_no_copies() -> None:
    build = ps.KernelBuilder("copy")
    x, y = build.input("x", ps.f64, (9,)), build.output("y", ps.f64, (9,))
    with build.loops(i=9) as i:
        y[i] = x[i]
    assert ps.Schedule(build.kernel()).explain() == "for i: y\n  parallel: yes\n  vector: yes\n"


@pytest.mark.parametrize("loop", ["i", "j"])
def test_the_copies_make_the_loop_legal(loop: str) -> None:
    """The checker proves what the report promises."""
    schedule = scalars(carries=False)
    (report,) = (one for one in explained(schedule) if one.loop == loop)
    for array in report.private:
        schedule = schedule.privatize(array, at=loop)
    assert not scalars(carries=False).parallel(loop).check().is_legal
    assert schedule.parallel(loop).check().is_legal
    assert schedule.vectorize(loop, 4).check().is_legal
