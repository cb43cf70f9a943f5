"""Calls whose arguments are checked once, by ``kernel.bind``."""

import array
import gc
import os
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, OutOfMemoryError
from polysched.ir.declare.builder import KernelBuilder
from polysched.runtime.cache import ObjectCache
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.kernel import CompiledKernel
from tests.support.children import holds_in_child


def shifted(threaded: bool = False) -> CompiledKernel:
    """``y[i] = x[i] + k``."""
    build = ps.KernelBuilder("shifted")
    n, k = build.parameter("n"), build.parameter("k", minimum=None)
    x, y = build.input("x", ps.i32, [n]), build.output("y", ps.i32, [n])
    with build.loops(i=n) as i:
        y[i] = x[i] + ps.cast(k, ps.i32)
    schedule = ps.Schedule(build.kernel())
    return ps.compile(schedule.parallel("i") if threaded else schedule)


def taken() -> CompiledKernel:
    build = ps.KernelBuilder("taken")
    n = build.parameter("n")
    at = build.input("at", ps.i32, [n], values=(0, n))
    x, y = build.input("x", ps.i32, [n]), build.output("y", ps.i32, [n])
    with build.loops(i=n) as i:
        y[i] = x[at[i]]
    return ps.compile(ps.Schedule(build.kernel()))


@pytest.mark.parametrize("threaded", [False, True])
def test_a_call_computes_on_what_the_arrays_hold_now(threaded: bool) -> None:
    kernel = shifted(threaded)
    x, y = np.arange(7, dtype=np.int32), np.zeros(7, np.int32)
    options = {"threads": 2} if threaded else {}
    for call in (kernel.bind(x, y, k=3, **options), kernel.bind(y=y, k=3, x=x, **options)):
        for start in (0, 10):
            x[:] = range(start, start + 7)
            assert call() is y
            assert y.tolist() == list(range(start + 3, start + 10))
    assert "shifted" in repr(call)


@pytest.mark.parametrize("threaded", [False, True])
def test_an_output_that_is_left_out_is_allocated_once(threaded: bool) -> None:
    x = np.arange(5, dtype=np.int32)
    call = shifted(threaded).bind(x, k=1)
    first = call()
    x += 1
    assert call() is first is call.result
    assert first.tolist() == [2, 3, 4, 5, 6]


def test_all_arguments_are_checked_before() -> None:
    kernel, x, y = shifted(), np.zeros(5, np.int32), np.zeros(5, np.int32)
    read_only, misaligned = y.copy(), np.zeros(21, np.uint8)[1:].view(np.int32)
    read_only.flags.writeable = False
    for bad, message in [
        ((x, x), "overlap in memory"),
        ((x, y[:4]), r"has shape \(4,\)"),
        ((x.astype(np.float32), y), "elements of type float32"),
        ((x, read_only), "read-only"),
        ((misaligned, y), "misaligned"),
        ((np.zeros(10, np.int32)[::2], y), "not contiguous"),
        ((x, None), "NoneType"),
        ((x, np.ma.zeros(5, np.int32)), "masked array"),
    ]:
        with pytest.raises(CallError, match=message):
            kernel.bind(*bad, k=1)
    with pytest.raises(CallError, match="pass k="):
        kernel.bind(x, y)
    with pytest.raises(CallError, match="threads=2 has no effect"):
        kernel.bind(x, y, k=1, threads=2)
    with pytest.raises(CallError, match="expected an integer >= 1"):
        shifted(threaded=True).bind(x, y, k=1, threads=0)


def test_the_arrays_are_kept_alive_and_cannot_be_resized() -> None:
    x = np.arange(100_000, dtype=np.int32)
    y = np.zeros_like(x)
    call, watched = shifted().bind(x, y, k=1), weakref.ref(x)
    with pytest.raises(ValueError, match="resize"):
        x.resize(3)
    del x, y
    gc.collect()
    assert watched() is not None
    assert (call() == np.arange(1, 100_001)).all()
    del call
    gc.collect()
    assert watched() is None


def test_other_objects_with_memory() -> None:
    source, target = array.array("i", [1, 2, 3]), bytearray(12)
    view = memoryview(target).cast("i")
    call = shifted().bind(source, view, k=4)
    assert call() is view
    assert view.tolist() == [5, 6, 7]
    with pytest.raises(BufferError):
        source.append(4)
    subclass = np.zeros(3, np.int32).view(type("Own", (np.ndarray,), {}))
    call = shifted().bind(source, subclass, k=4)
    assert call() is subclass
    assert subclass.tolist() == [5, 6, 7]
    read_only = np.array([1, 2, 3], np.int32)
    read_only.flags.writeable = False
    assert shifted().bind(read_only, k=1)().tolist() == [2, 3, 4]


def test_index_values_are_checked_at_every_call() -> None:
    at, x = np.array([2, 1, 0], np.int32), np.array([5, 6, 7], np.int32)
    call = taken().bind(at, x)
    assert call().tolist() == [7, 6, 5]
    at[0] = 3
    with pytest.raises(CallError, match="'at'"):
        call()
    at[0] = 0
    assert call().tolist() == [5, 6, 5]


def test_no_memory_for_the_workspace(host: ps.Machine) -> None:
    build = KernelBuilder("greedy")
    x = build.inout("x", "f32", (4,))
    with build.loops(i=4) as i:
        x[i] = 0.0
    text = "define i32 @greedy(ptr %x) {\n  ret i32 1\n}\n"
    kernel = compile_kernel(build.kernel(), text, host, cache=ObjectCache(None))
    call = kernel.bind(np.zeros(4, np.float32))
    with pytest.raises(OutOfMemoryError, match="kernel 'greedy': no memory for its workspace"):
        call()


def test_calls_in_several_threads() -> None:
    kernel = shifted(threaded=True)

    def work(seed: int) -> bool:
        x = np.arange(seed, seed + 1000, dtype=np.int32)
        call = kernel.bind(x, k=seed)
        return all((call() == x + seed).all() for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_call_works_in_a_child_of_the_process() -> None:
    x = np.arange(1000, dtype=np.int32)
    call = shifted(threaded=True).bind(x, k=2, threads=2)
    call()
    assert holds_in_child(lambda: bool((call() == x + 2).all()))
