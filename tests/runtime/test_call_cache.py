"""Cache of library calls: which calls it knows, and that it checks their addresses."""

import gc
import os
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.runtime.cache import ObjectCache
from polysched.runtime.call_cache import CallCache, CallTarget
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.kernel import CompiledKernel
from tests.support.children import holds_in_child

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.usefixtures("call_table")


@pytest.fixture(scope="module")
def kernel() -> CompiledKernel:
    """``y = 2 x + z``, of 12 elements in any shape."""
    build = ps.KernelBuilder("scaled")
    x, z = build.input("x", ps.f32, [12]), build.input("z", ps.f32, [12])
    y = build.output("y", ps.f32, [12])
    with build.loops(i=12) as i:
        y[i] = 2 * x[i] + z[i]
    return ps.compile(ps.Schedule(build.kernel()))


def some(shape: Any = (3, 4), value: float = 1) -> Array:
    return np.full(shape, value, np.float32)


def new(shape: Any) -> Array:
    return np.zeros(shape, np.float32)


def filled(kernel: CompiledKernel, *arrays: Array | None, options: Any = None) -> CallCache:
    cache = CallCache(8)
    cache.add(options, arrays, CallTarget(kernel, (0, 1, 2), allocate=(new, ((3, 4),))))
    return cache


def test_nothing_is_known_before(kernel: CompiledKernel) -> None:
    assert CallCache(8).run(None, some(), some(), some()) is None


def test_a_known_kind_runs_on_the_arrays_of_the_call(kernel: CompiledKernel) -> None:
    cache = filled(kernel, some(), some(), some())
    out = some()
    assert cache.run(None, some(value=5), some(value=3), out) is out
    assert (out == 13).all()


def test_the_order_of_the_kernels_arrays(kernel: CompiledKernel) -> None:
    cache = CallCache(8)
    cache.add(None, (some(), some(), some()), CallTarget(kernel, (1, 0, 2)))
    assert (cache.run(None, some(value=5), some(value=3), some()) == 11).all()


def test_parameters_and_threads() -> None:
    build = ps.KernelBuilder("counted")
    n, k = build.parameter("n"), build.parameter("k")
    x, y = build.input("x", ps.i32, [n]), build.output("y", ps.i32, [n])
    with build.loops(i=n) as i:
        y[i] = x[i] + ps.cast(k, ps.i32)
    kernel = ps.compile(ps.Schedule(build.kernel()).parallel("i"))
    cache, given = CallCache(8), np.zeros(900, np.int32)
    for threads in (None, 1, 3):
        target = CallTarget(kernel, (0, 1), (900, 7), threads)
        cache.add(threads, (given, given + 1), target)
        out = np.zeros(900, np.int32)
        assert cache.run(threads, given, out) is out
        assert (out == 7).all()


READ_ONLY = some()
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    "other",
    [
        np.zeros((4, 3), np.float32),
        np.zeros((3, 4, 1), np.float32),
        np.zeros(12, np.float32),
        np.zeros((3, 4), np.int32),
        np.zeros((3, 4), ">f4"),
        np.zeros((3, 8), np.float32)[:, ::2],
        np.zeros((3, 4), np.float32)[::-1],
        np.zeros((3, 4), np.float32, order="F"),
        np.broadcast_to(np.float32(0), (3, 4)),
        np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4),
        np.ma.zeros((3, 4), np.float32),
        READ_ONLY,
        [[0.0]],
        3,
        None,
        "array",
        memoryview(b"abc"),
    ],
    ids=lambda value: f"{type(value).__name__}{getattr(value, 'shape', '')}",
)
@pytest.mark.parametrize("position", [0, 2])
def test_other_arrays_are_not_known(kernel: CompiledKernel, other: Any, position: int) -> None:
    cache, arrays = filled(kernel, some(), some(), some()), [some(), some(), some()]
    arrays[position] = other
    assert cache.run(None, *arrays) is None


def test_read_only_operands_are_a_kind_of_their_own(kernel: CompiledKernel) -> None:
    cache = filled(kernel, READ_ONLY, READ_ONLY, some())
    assert (cache.run(None, READ_ONLY, READ_ONLY, some()) == 3).all()
    assert cache.run(None, some(), READ_ONLY, some()) is None


def test_options_and_the_number_of_arrays_belong_to_the_kind(kernel: CompiledKernel) -> None:
    cache = filled(kernel, some(), some(), None, options="sum")
    assert cache.run("sum", some(), some(), None) is not None
    assert cache.run("product", some(), some(), None) is None
    assert cache.run("sum", some(), None) is None
    assert cache.run("sum", some(), some()) is None
    assert cache.run("sum", some(), some(), some()) is None


def test_an_output_that_is_left_out_is_allocated(kernel: CompiledKernel) -> None:
    cache = filled(kernel, some(), some(), None)
    first, second = (cache.run(None, some(), some(), None) for _ in range(2))
    assert first is not None
    assert first is not second
    assert first.shape == (3, 4)
    assert (first == 3).all()


def test_an_output_that_overlaps_is_left_to_the_caller(kernel: CompiledKernel) -> None:
    memory, others = some((40,)), some((40,))
    a, b, out = memory[:12], others[:12], memory[12:24]
    cache = filled(kernel, a, b, out)
    assert cache.run(None, a, b, out) is out
    before = memory.copy()
    for start in (1, 11, 12, 13, 23):
        assert cache.run(None, memory[start : start + 12], b, out) is None
        assert cache.run(None, b, memory[start : start + 12], out) is None
    assert np.array_equal(memory, before)
    assert cache.run(None, memory[24:36], b, out) is out
    assert cache.run(None, b, b, out) is out  # operands may be the same array


def test_arrays_that_are_not_added(kernel: CompiledKernel) -> None:
    for a in (
        np.zeros(0, np.float32),
        some(12)[::-1],
        np.ma.zeros(12, np.float32),
        np.zeros(49, np.uint8)[1:].view(np.float32),
    ):
        cache = filled(kernel, a, some(), some())
        assert cache.run(None, a, some(), some()) is None
    cache = CallCache(4)
    cache.add(None, (some(), some(), None), CallTarget(kernel, (0, 1, 2)))  # nothing allocates
    assert cache.run(None, some(), some(), None) is None


def test_a_full_cache_is_emptied(kernel: CompiledKernel) -> None:
    cache, target = CallCache(3), CallTarget(kernel, (0, 1, 2))
    watched = weakref.ref(target)
    for options in range(4):
        cache.add(options, (some(), some(), some()), target)
        target = CallTarget(kernel, (0, 1, 2))
    known = [cache.run(options, some(), some(), some()) is not None for options in range(4)]
    assert known == [False, False, False, True]
    gc.collect()
    assert watched() is None


def test_arrays_are_not_kept_alive(kernel: CompiledKernel) -> None:
    a, out = some(), some()
    cache = filled(kernel, a, some(), out)
    cache.run(None, a, some(), out)
    watched = weakref.ref(a), weakref.ref(out)
    del a, out
    gc.collect()
    assert [one() for one in watched] == [None, None]


def test_no_memory_for_a_workspace_is_left_to_the_caller(host: ps.Machine) -> None:
    build = ps.KernelBuilder("constant")
    out = build.output("out", ps.f32, [12])
    with build.loops(i=12) as i:
        out[i] = 1.0
    failing = "define i32 @constant(ptr %out) {\n  ret i32 1\n}"
    kernel = compile_kernel(build.kernel(), failing, host, cache=ObjectCache(None))
    cache = CallCache(2)
    cache.add(None, (some(),), CallTarget(kernel, (0,)))
    assert cache.run(None, some()) is None


def test_threads_add_and_run_at_the_same_time(kernel: CompiledKernel) -> None:
    cache, target, wrong = CallCache(4), CallTarget(kernel, (0, 1, 2)), []

    def work(start: int) -> None:
        for turn in range(300):
            option, value = (start + turn) % 12, float(turn)
            a, b, out = some(value=value), some(value=start), some()
            if cache.run(option, a, b, out) is None:
                cache.add(option, (a, b, out), target)
            elif not (out == 2 * value + start).all():
                wrong.append(turn)

    threads = [threading.Thread(target=work, args=(3 * n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_known_calls_run_in_a_child_of_the_process(kernel: CompiledKernel) -> None:
    cache = filled(kernel, some(), some(), some())
    assert holds_in_child(lambda: cache.run(None, some(), some(), some()) is not None)
