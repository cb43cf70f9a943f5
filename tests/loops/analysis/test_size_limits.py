"""Sizes at which the arithmetic of loops fits 64 bits."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, LoweringError
from polysched.ir.core.conditions import conditions_of
from polysched.ir.expr.expressions import Expression
from polysched.loops.analysis.size_limits import with_limited_sizes
from polysched.loops.ir.nodes import LoopProgram
from polysched.lower import lower
from polysched.runtime.cache import ObjectCache

LARGEST = 2**63 - 1


def gather(subscript: str, minimum: int | None = None) -> ps.Schedule:
    """``y[k] = x[subscript]`` for the eight ``i`` that end at a size of any value."""
    build = ps.KernelBuilder("gather")
    n = build.parameter("n", minimum=minimum)
    x, y = build.input("x", ps.i64, (64,)), build.output("y", ps.i64, (8,))
    with build.loops(i=(n - 8, n)) as i:
        place: Expression = {
            "clamped": ps.minimum(ps.maximum(2 * i - 2 * n, -16), 0) + 16,
            "modulo": (3 * i + 1) % 7,
            "floor": (4 * i) // 4 - n + 8,
        }[subscript]
        y[i - n + 8] = x[place]
    return ps.Schedule(build.kernel())


def texts(program: LoopProgram) -> set[str]:
    return {condition.text for condition in conditions_of(program.context)}


@pytest.mark.parametrize("subscript", ["clamped", "modulo", "floor"])
@pytest.mark.parametrize("lanes", [None, 4])
def test_large_sizes_are_right_or_refused(subscript: str, lanes: int | None) -> None:
    schedule = gather(subscript)
    if lanes:
        schedule = schedule.vectorize("i", lanes)
    run = schedule.compile(cache=ObjectCache(None))
    x = np.arange(64) * 7
    for n in (5, 2**40 + 3, -(2**40) - 5):
        i = np.arange(n - 8, n)
        place = {"clamped": 2 * i - 2 * n + 16, "modulo": (3 * i + 1) % 7, "floor": i - n + 8}
        np.testing.assert_array_equal(run(x, n=n), x[place[subscript]])
    for n in (LARGEST, 2**62, 2**61 + 3, -(2**62), -LARGEST + 8):
        with pytest.raises(CallError, match=rf"requires n [<>]= -?\d+; got n = {n}"):
            run(x, n=n)


def test_the_steeper_the_lower() -> None:
    build = ps.KernelBuilder("steep")
    n, m, p = (build.parameter(name) for name in "nmp")
    y = build.output("y", ps.f32, (8,))
    with build.loops(i=8) as i, build.where(i <= 1024 * n - 1000 * p):
        y[i] = ps.cast(m * m, "f32")
    limited = with_limited_sizes(lower(ps.Schedule(build.kernel())))
    assert texts(limited) == {
        "m >= 0",
        *(text for name in "np" for text in (f"{name} >= 0", f"{name} <= {2**50}")),
    }


def test_what_only_values_use_is_free() -> None:
    build = ps.KernelBuilder("powers")
    n, m = build.parameter("n", minimum=None), build.parameter("m")
    y = build.output("y", ps.i64, (m,))
    with build.loops(i=m) as i:
        y[i] = (i + 1) * n * n
    run = ps.Schedule(build.kernel()).vectorize("i", 8).compile(cache=ObjectCache(None))
    for value in (LARGEST, -(2**63), 2**40 + 1):
        expected = [((k * value * value + 2**63) % 2**64) - 2**63 for k in range(1, 6)]
        assert run(n=value, m=5).tolist() == expected


def test_programs_without_sizes_are_as_they_were() -> None:
    build = ps.KernelBuilder("fixed")
    y = build.output("y", ps.f32, (8,))
    with build.loops(i=8) as i:
        y[i] = 1.0
    program = lower(ps.Schedule(build.kernel()))
    assert with_limited_sizes(program) is program


def test_a_buffer_counts_with_its_extents() -> None:
    build = ps.KernelBuilder("sums")
    n = build.parameter("n")
    t, y = build.temporary("t", ps.f32, (2**30 * n + 1,)), build.output("y", ps.f32, (1,))
    with build.loops(i=1) as i:
        t[i] = 1.0
        y[i] = t[i]
    limited = with_limited_sizes(lower(ps.Schedule(build.kernel())))
    assert texts(limited) == {f"n <= {2**30}", "n >= 0"}


def test_sizes_of_index_arrays_count() -> None:
    build = ps.KernelBuilder("indirect")
    n, m = build.parameter("n"), build.parameter("m")
    places = build.input("places", ps.i64, (m,), values=(0, n))
    x, y = build.input("x", ps.f32, (4 * n,)), build.output("y", ps.f32, (m,))
    with build.loops(i=m) as i:
        y[i] = x[4 * places[i]]
    limited = with_limited_sizes(lower(ps.Schedule(build.kernel())))
    assert f"n <= {2**58}" in texts(limited)


def test_copies_of_index_arrays_have_their_range() -> None:
    build = ps.KernelBuilder("indirect")
    n = build.parameter("n")
    places = build.input("places", ps.i64, (n,), values=(0, n))
    x, y = build.input("x", ps.f32, (n,)), build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = x[places[i]]
    schedule = ps.Schedule(build.kernel()).split("i", 8).pack("places", at="io")
    assert f"n <= {2**59}" in texts(with_limited_sizes(lower(schedule)))


def test_no_size_is_small_enough() -> None:
    with pytest.raises(LoweringError, match=r"kernel 'gather'.* need more than 64 bits"):
        gather("modulo", minimum=2**62).compile(cache=ObjectCache(None))
