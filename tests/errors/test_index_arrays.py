"""What is said of subscripts that are not affine, and of index arrays."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.ir.semantics.reference import run_reference
from polysched.lower import lower
from tests.support.indirect import embedding, gather, histogram
from tests.support.interpreting import interpret

HERE = Path(__file__).name


def _subscripted(make: Callable[[ps.KernelBuilder, Any, Any, Any], Any]) -> None:
    """Subscript ``x`` by what ``make`` makes of the builder, i, j and an index array ``p``."""
    build = ps.KernelBuilder("k")
    p = build.input("p", ps.i32, (10,), values=(0, 10))
    x, y = build.input("x", ps.f32, (100,)), build.output("y", ps.f32, (10, 10))
    with build.loops(i=10, j=10) as (i, j):
        y[i, j] = x[make(build, i, j, p)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda build, i, j, p: i * j,
            r"subscript of array 'x': '\(i \* j\)' is not affine: one factor of a product must be "
            r"a literal; an affine expression joins indices, parameters and integers by \+ - min "
            r"max, and "
            rf"by \* // % with a literal on the right \(.*{HERE}:\d+\)",
        ),
        (lambda build, i, j, p: i * i + 1, r"'\(i \* i\)' is not affine"),
        (
            lambda build, i, j, p: i // j,
            r"'\(i // j\)' is not affine: a divisor must be a positive",
        ),
        (lambda build, i, j, p: p[i] * p[j], r"'\(p\[i\] \* p\[j\]\)' is not affine: one factor"),
        (
            lambda build, i, j, p: build.input("q", ps.i32, (10,))[i],
            r"subscript of array 'x': 'q\[i\]' stands in a subscript, but array 'q' has no "
            r'declared range of values; declare it with build.input\("q", i32, ..., '
            r"values=\(lower, upper\)",
        ),
        (
            lambda build, i, j, p: build.input("w", ps.f32, (10,))[i],
            r"'w\[i\]' is of type f32; expected an array of integers as index",
        ),
        (
            lambda build, i, j, p: build.input("b", ps.boolean, (10,))[i],
            r"'b\[i\]' is of type bool; expected an array of integers as index",
        ),
        (
            lambda build, i, j, p: build.inout("q", ps.i32, (10,))[i],
            r"'q\[i\]' reads inout 'q', which the kernel writes, so nothing is known of its "
            r"values; expected elements of an input, declared with values=\(lower, upper\)",
        ),
        (
            lambda build, i, j, p: build.temporary("q", ps.i32, (10,))[i],
            r"'q\[i\]' reads temporary 'q', which the kernel writes",
        ),
        (
            lambda build, i, j, p: ps.KernelBuilder("other").input("q", ps.i32, (9,))[0],
            r"'q\[0\]' reads an array that kernel 'k' does not declare",
        ),
        (
            lambda build, i, j, p: ps.cast(p[i] + 1, ps.i64),
            r"subscripts are computed in 64 bits: convert array elements themselves",
        ),
        (lambda build, i, j, p: p[i] + j, r"mixes i32 and i64 .* convert one side with cast"),
    ],
)
def test_subscripts(make: Callable[[ps.KernelBuilder, Any, Any, Any], Any], message: str) -> None:
    with pytest.raises(ps.KernelError, match=message):
        _subscripted(make)


def test_bounds_and_conditions_do_not_depend_on_data() -> None:
    build = ps.KernelBuilder("k")
    row = build.input("row", ps.i64, (10,), values=(0, 10))
    expected = "an array element is allowed in a subscript only, not in bounds or conditions"
    with (
        build.loops(i=9) as i,
        pytest.raises(ps.KernelError, match=f"bound of loop 'k'.*{expected}"),
        build.loops(k=(row[i], row[i + 1])),
    ):
        pass
    with (
        build.loops(i=9) as i,
        pytest.raises(ps.KernelError, match=expected),
        build.where(row[i] < 3),
    ):
        pass


def test_an_element_used_after_its_loop() -> None:
    build = ps.KernelBuilder("k")
    p = build.input("p", ps.i32, (10,), values=(0, 10))
    y = build.inout("y", ps.f32, (10,))
    with build.loops(i=10) as i:
        element = p[i]
        y[element] = 1.0
    with build.loops(j=10), pytest.raises(ps.KernelError, match="index 'i' is not in scope here"):
        y[element] = 2.0


@pytest.mark.parametrize("bad", [3, -1, 2**31 - 1])
def test_a_value_outside_the_declared_range(bad: int) -> None:
    idx = np.array([0, 2, bad, 1], np.int32)
    expected = f"array 'idx' holds {bad} at .2.; expected values from 0 to 2: values=.0, m. is"
    schedule = ps.Schedule(histogram())
    output = np.full(3, 7, np.int32)
    with pytest.raises(ps.CallError, match=f"kernel 'histogram': {expected}"):
        ps.compile(schedule)(idx, output)
    np.testing.assert_array_equal(output, 7)
    for run in (
        lambda: run_reference(schedule.kernel, {"idx": idx}, {"n": 4, "m": 3}),
        lambda: interpret(lower(schedule), {"idx": idx}, {"n": 4, "m": 3}),
    ):
        with pytest.raises(ps.CallError, match=expected):
            run()


def test_values_are_looked_at_in_every_call_however_arrays_are_passed() -> None:
    run = ps.compile(ps.Schedule(gather(ps.u8)))
    x, idx = np.arange(5, dtype=np.float32), np.array([3, 0], np.uint8)
    np.testing.assert_array_equal(run(idx, x), [8, 2])
    idx[1] = 4
    for call in (lambda: run(idx, x), lambda: run(x=x, idx=idx), lambda: run(memoryview(idx), x)):
        with pytest.raises(ps.CallError, match="'idx' holds 4 at .1.; expected values from 0 to 3"):
            call()


def test_an_index_array_without_elements_or_of_two_dimensions() -> None:
    run = ps.compile(ps.Schedule(embedding(2)))
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(run(np.array([[2, 0, 2]]), table), [[8, 11]])
    with pytest.raises(ps.CallError, match=r"array 'word' holds 3 at \[1, 0\]; expected values fr"):
        run(np.array([[2], [3]]), table)


def test_values_of_an_empty_index_array_are_not_looked_at() -> None:
    build = ps.KernelBuilder("k")
    n, m = build.parameter("n"), build.parameter("m")
    p, x = build.input("p", ps.i32, (n,), values=(0, m)), build.input("x", ps.f32, (m,))
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = x[p[i]]
    run = ps.compile(ps.Schedule(build.kernel()))
    assert run(np.zeros(0, np.int32), np.zeros(0, np.float32)).shape == (0,)
    with pytest.raises(ps.CallError, match="'p' holds 0 at .0.; its declared range .* is empty"):
        run(np.zeros(1, np.int32), np.zeros(0, np.float32))
