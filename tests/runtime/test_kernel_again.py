"""Repeated calls of one kernel, whose plan comes from a cache."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.runtime import kernel as kernel_module
from polysched.runtime.kernel import CompiledKernel

Check = Callable[[], None]


def two_outputs() -> CompiledKernel:
    """``low = x // 2``, ``high = x + k`` and, in place, ``count += 1``."""
    build = ps.KernelBuilder("both")
    n, k = build.parameter("n"), build.parameter("k", minimum=None)
    x = build.input("x", ps.i32, [n])
    low, high = build.output("low", ps.i32, [n]), build.output("high", ps.i32, [n])
    with build.loops(i=n) as i:
        low[i] = x[i] // 2
        high[i] = x[i] + ps.cast(k, ps.i32)
    return ps.compile(ps.Schedule(build.kernel()))


def in_place() -> CompiledKernel:
    build = ps.KernelBuilder("in_place")
    n = build.parameter("n")
    x = build.inout("x", ps.i32, [n])
    with build.loops(i=n) as i:
        x[i] += 1
    return ps.compile(ps.Schedule(build.kernel()))


def doubled(threaded: bool = False) -> CompiledKernel:
    build = ps.KernelBuilder("doubled")
    m, n = build.parameter("m"), build.parameter("n")
    x, y = build.input("x", ps.f32, [m, n]), build.output("y", ps.f32, [m, n])
    with build.loops(i=m, j=n) as (i, j):
        y[i, j] = 2 * x[i, j]
    schedule = ps.Schedule(build.kernel())
    return ps.compile(schedule.parallel("i") if threaded else schedule)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans that are made."""
    made: list[Any] = []
    make_plan = kernel_module.make_plan

    def spied(*arguments: Any) -> Any:
        made.append(make_plan(*arguments))
        return made[-1]

    monkeypatch.setattr(kernel_module, "make_plan", spied)
    return made


@pytest.mark.parametrize("threaded", [False, True])
def test_an_output_given_and_left_out(threaded: bool, plans: list[Any]) -> None:
    kernel = doubled(threaded)
    for turn in range(5):
        x, y = np.full((3, 4), turn, np.float32), np.zeros((3, 4), np.float32)
        assert kernel(x, y) is y
        new = kernel(x)
        assert (new == 2 * turn).all()
        assert (y == 2 * turn).all()
        assert new.ctypes.data % 64 == 0
    assert len(plans) == 2


def test_another_shape_is_another_kind(plans: list[Any]) -> None:
    kernel = doubled()
    for _ in range(3):
        for shape in [(3, 4), (4, 3), (12, 1), (1, 12), (5, 7)]:
            assert kernel(np.ones(shape, np.float32)).shape == shape
    assert len(plans) == 5


def test_several_outputs_come_as_a_tuple() -> None:
    kernel = two_outputs()
    with pytest.raises(CallError, match="'k'"):
        kernel(np.zeros(3, np.int32))
    for turn in range(3):
        x = np.arange(turn, turn + 5, dtype=np.int32)
        low, high = np.zeros(5, np.int32), np.zeros(5, np.int32)
        found = kernel(x, low, high, k=turn)
        assert found[0] is low
        assert found[1] is high
        assert (high == x + turn).all()
        assert [one.tolist() for one in kernel(x, k=-turn)] == [
            (x // 2).tolist(),
            (x - turn).tolist(),
        ]


def test_a_kernel_in_place_returns_nothing(plans: list[Any]) -> None:
    kernel, x = in_place(), np.zeros(5, np.int32)
    for turn in range(3):
        assert kernel(x) is None
        assert (x == turn + 1).all()
    assert len(plans) == 1


def test_errors_come_after_calls_that_were_right() -> None:
    kernel = doubled()
    x, y = np.ones((3, 4), np.float32), np.ones((3, 4), np.float32)
    kernel(x, y)
    with pytest.raises(CallError, match="overlap"):
        kernel(x, x)
    with pytest.raises(CallError, match="elements of type int32"):
        kernel(x.astype(np.int32), y)
    with pytest.raises(CallError, match="not contiguous"):
        kernel(x[:, ::2], y)
    y.flags.writeable = False
    with pytest.raises(CallError, match="read-only"):
        kernel(x, y)
    kernel(x)
    with pytest.raises(CallError, match="NoneType"):
        kernel(x, None)
    with pytest.raises(CallError, match="no parallel loop"):
        kernel(x, threads=2)


def test_calls_with_other_numbers_of_threads_share_a_plan(plans: list[Any]) -> None:
    kernel, x = doubled(threaded=True), np.ones((300, 4), np.float32)
    for _ in range(3):
        for threads in (1, 2, 3, 5000):
            assert (kernel(x, threads=threads) == 2).all()
        assert (kernel(x) == 2).all()
    assert len(plans) == 1
    for wrong in (True, 0, 1.0, "2"):
        with pytest.raises(CallError, match="expected an integer >= 1"):
            kernel(x, threads=wrong)


def test_index_arrays_are_looked_at_in_every_call() -> None:
    build = ps.KernelBuilder("taken")
    n = build.parameter("n")
    at = build.input("at", ps.i32, [n], values=(0, n))
    x, y = build.input("x", ps.f32, [n]), build.output("y", ps.f32, [n])
    with build.loops(i=n) as i:
        y[i] = x[at[i]]
    kernel = ps.compile(ps.Schedule(build.kernel()))
    x_, at_ = np.arange(4, dtype=np.float32), np.array([3, 2, 1, 0], np.int32)
    for _ in range(3):
        assert kernel(at_, x_).tolist() == [3, 2, 1, 0]
    at_[0] = 4
    with pytest.raises(CallError, match="'at'"):
        kernel(at_, x_)


def test_calls_at_the_same_time() -> None:
    kernel = doubled(threaded=True)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(100):
            x = rng.random((int(rng.integers(1, 6)), 4), np.float32)
            if not (kernel(x) == 2 * x).all():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
