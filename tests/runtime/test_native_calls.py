"""Calls by the C extension: what it runs, what it leaves to Python, and what it keeps alive."""

import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, OutOfMemoryError
from polysched.runtime.cache import ObjectCache
from polysched.runtime.compiling import compile_kernel
from polysched.runtime.extension import NO_EXTENSION
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.native_calls import CALL_TABLE, KnownCalls
from tests.support.children import holds_in_child

pytestmark = pytest.mark.skipif(CALL_TABLE is None, reason="the C extension is not used")

Array = np.ndarray[Any, Any]


@pytest.fixture(scope="module")
def add() -> CompiledKernel:
    """``y = x + k``."""
    build = ps.KernelBuilder("add")
    n, k = build.parameter("n"), build.parameter("k", minimum=None)
    x, y = build.input("x", ps.i32, [n]), build.output("y", ps.i32, [n])
    with build.loops(i=n) as i:
        y[i] = x[i] + ps.cast(k, ps.i32)
    return ps.compile(ps.Schedule(build.kernel()))


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls that Python runs."""
    seen: list[object] = []
    run = CompiledKernel._run

    def spied(self: CompiledKernel, *arguments: Any) -> Any:
        seen.append(self)
        return run(self, *arguments)

    monkeypatch.setattr(CompiledKernel, "_run", spied)
    return seen


def numbers(count: int = 9) -> Array:
    return np.arange(count, dtype=np.int32)


@pytest.mark.parametrize(
    "call",
    [
        lambda kernel, x, y: kernel(x, y, k=2),
        lambda kernel, x, y: kernel(k=2, y=y, x=x),
        lambda kernel, x, y: kernel(x, k=2, y=y),
        lambda kernel, x, y: kernel(x, k=2),
        lambda kernel, x, y: kernel(k=2, x=x),
    ],
)
def test_ways_to_pass_arguments(
    add: CompiledKernel, in_python: list[object], call: Callable[..., Array]
) -> None:
    call(add, numbers(), numbers())
    del in_python[:]
    for start in range(3):
        assert call(add, numbers() + start, numbers()).tolist() == list(
            range(start + 2, start + 11)
        )
    assert not in_python


def test_other_parameters_and_sizes_are_other_calls(add: CompiledKernel) -> None:
    for _ in range(2):
        for k in (1, -1, 2**31, -(2**31)):
            for count in (0, 1, 5):
                found = add(numbers(count), k=k)
                assert found.tolist() == (numbers(count) + np.int64(k)).astype(np.int32).tolist()
        with pytest.raises(CallError, match="expected an integer"):
            add(numbers(), k=True)
        with pytest.raises(CallError):
            add(numbers(), k=2**70)
        for number in (np.int8, np.array):
            assert add(numbers(2), k=number(1)).tolist() == [1, 2]
            assert add(k=number(2), y=numbers(2), x=numbers(2)).tolist() == [2, 3]


def test_unpickled_element_types_are_the_same(add: CompiledKernel, in_python: list[object]) -> None:
    add(numbers(), k=1)
    del in_python[:]
    assert add(pickle.loads(pickle.dumps(numbers())), k=1)[0] == 1
    assert not in_python


def test_a_misaligned_array(add: CompiledKernel) -> None:
    memory = np.zeros(41, np.uint8)
    add(memory[4:40].view(np.int32), k=1)
    with pytest.raises(CallError, match="array 'x' is misaligned"):
        add(memory[1:37].view(np.int32), k=1)
    with pytest.raises(CallError, match="array 'y' is misaligned"):
        add(numbers(), memory[1:37].view(np.int32), k=1)


@pytest.mark.filterwarnings("ignore:Numpy has detected:DeprecationWarning")
def test_arrays_that_warn_when_written_let_no_constant_be_written(add: CompiledKernel) -> None:
    """numpy's buffers report them as read-only, as they report a constant."""
    for _ in range(2):
        warns = np.broadcast_arrays(np.int32(3), np.zeros(1))[0]
        constant = warns.copy()
        constant.flags.writeable = False
        assert memoryview(warns).readonly
        assert add(numbers(1), warns, k=1).tolist() == [1]
        with pytest.raises(CallError, match="array 'y' is read-only"):
            add(numbers(1), constant, k=1)


def test_strides_of_dimensions_with_one_element() -> None:
    """No element needs them, but kernels compute parameters from them."""
    build = ps.KernelBuilder("stride")
    n, s = build.parameter("n", minimum=1), build.parameter("s", minimum=3)
    x = build.input("x", ps.i32, [n, 3], strides=[s, 1])
    y = build.output("y", ps.i64, [1])
    with build.loops(i=1) as i:
        y[i] = ps.cast(s, ps.i64) + 0 * ps.cast(x[0, 0], ps.i64)
    kernel, memory = ps.compile(ps.Schedule(build.kernel())), np.zeros((4, 20), np.int32)
    for _ in range(3):
        for step in (1, 2, 3):
            for rows in (1, 2):
                view = np.lib.stride_tricks.as_strided(memory, (rows, 3), (80 * step, 4))
                assert kernel(view).tolist() == [20 * step]


def test_arrays_that_interleave_and_overlap() -> None:
    build = ps.KernelBuilder("columns")
    n, s = build.parameter("n"), build.parameter("s", minimum=2)
    x = build.input("x", ps.i32, [n], strides=[s])
    y = build.output("y", ps.i32, [n], strides=[s])
    with build.loops(i=n) as i:
        y[i] = x[i] + 1
    kernel, memory = ps.compile(ps.Schedule(build.kernel())), np.zeros((5, 2), np.int32)
    for turn in range(3):
        memory[:, 0] = turn
        assert kernel(memory[:, 0], memory[:, 1]).tolist() == [turn + 1] * 5
        with pytest.raises(CallError, match="overlap"):
            kernel(memory[:, 0], memory[:, 0])


@pytest.mark.parametrize("count", [1, 4, 5, 8, 9, 15, 16, 17, 20])
def test_numbers_of_arguments(count: int) -> None:
    build = ps.KernelBuilder("many")
    inputs = [build.input(f"x{k}", ps.i32, [3]) for k in range(count - 1)]
    out = build.output("out", ps.i32, [3])
    with build.loops(i=3) as i:
        value: Any = ps.cast(1, ps.i32)
        for k, x in enumerate(inputs):
            value = value + x[i] * (k + 1)
        out[i] = value
    kernel = ps.compile(ps.Schedule(build.kernel()))
    for turn in range(3):
        arrays = [np.full(3, turn + k, np.int32) for k in range(count - 1)]
        expected = 1 + sum((turn + k) * (k + 1) for k in range(count - 1))
        assert kernel(*arrays, np.zeros(3, np.int32)).tolist() == [expected] * 3
        assert kernel(*arrays).tolist() == [expected] * 3


def test_a_workspace_and_an_output_that_do_not_fit(host: ps.Machine) -> None:
    build = ps.KernelBuilder("full")
    out = build.output("out", ps.f32, [4])
    with build.loops(i=4) as i:
        out[i] = 1.0
    # Succeeds while the array starts with zero.
    text = """define i32 @full(ptr %out) {
      %bits = load i32, ptr %out
      %some = icmp ne i32 %bits, 0
      %status = zext i1 %some to i32
      store i32 1, ptr %out
      ret i32 %status
    }"""
    kernel = compile_kernel(build.kernel(), text, host, cache=ObjectCache(None))
    memory = np.zeros(4, np.float32)
    kernel(memory)
    for _ in range(3):
        with pytest.raises(OutOfMemoryError, match="'full': no memory for its workspace"):
            kernel(memory)
        kernel()


def table(size: int = 4) -> Any:
    assert CALL_TABLE is not None
    return CALL_TABLE(size, lambda *arguments: ("missed", arguments))


class Options:
    """Options with a comparison that runs code."""

    def __init__(self, compared: Callable[[], bool]) -> None:
        self.compared = compared

    def __eq__(self, other: object) -> bool:
        return self.compared()

    __hash__ = None  # type: ignore[assignment]


def planned(kernel: CompiledKernel, x: Array) -> Callable[[], Any]:
    kernel(x, k=1)
    plan, *_ = kernel._plan_call((x,), {"k": 1})
    return lambda: kernel._planned_call(plan, None, (x,))


def test_comparisons_that_fail_or_change_the_table(add: CompiledKernel) -> None:
    x, calls = numbers(), table()
    plan = planned(add, x)

    def cleared() -> bool:
        calls.clear()
        gc.collect()
        return True

    assert calls.add(Options(lambda: bool(1 // 0)), (x,), plan)
    with pytest.raises(ZeroDivisionError):
        calls.run(None, x)
    calls.clear()
    assert calls.add(Options(cleared), (x,), plan)
    assert calls.run(None, x).tolist() == (x + 1).tolist()
    assert calls.run(None, x)[0] == "missed"


def test_wrong_descriptions_are_refused(add: CompiledKernel) -> None:
    x, calls = numbers(), table()
    good = planned(add, x)()
    out_of_range = np.array([0, 2], np.int64).tobytes()
    for wrong in ({"sources": out_of_range}, {"results": out_of_range}, {"overlaps": b"\1" * 32}):
        assert not calls.add(None, (x,), lambda wrong=wrong: good._replace(**wrong))
    for wrong in ({"sources": (0,)}, {"address": "x"}, {"allocations": None}):
        with pytest.raises(TypeError):
            calls.add(None, (x,), lambda wrong=wrong: good._replace(**wrong))
    with pytest.raises(TypeError, match="returns a PlannedCall"):
        calls.add(None, (x,), lambda: 3)
    with pytest.raises(ZeroDivisionError):
        calls.add(None, (x,), lambda: 1 // 0)
    with pytest.raises(ValueError, match="size=0; expected 1 to 65536"):
        table(0)
    assert calls.run() == ("missed", ())
    assert calls.run(None, x) == ("missed", (None, x))


def test_an_allocation_that_fails(add: CompiledKernel) -> None:
    x, calls = numbers(), table()
    good, fail = planned(add, x)(), [True]
    allocate = good.allocations[0]
    call = good._replace(allocations=(lambda: 1 // 0 if fail[0] else allocate(),))
    assert calls.add(None, (x,), lambda: call)
    with pytest.raises(ZeroDivisionError):
        calls.run(None, x)
    fail[0] = False
    assert calls.run(None, x).tolist() == (x + 1).tolist()


def test_a_full_table_is_emptied(add: CompiledKernel) -> None:
    x, calls = numbers(), table(3)
    plan = planned(add, x)
    for options in range(4):
        assert calls.add(options, (x,), plan)
        assert calls.add(options, (x,), None)  # it is known, so nothing is planned
    known = [calls.run(options, x)[0] != "missed" for options in range(4)]
    assert known == [False, False, False, True]


def test_tables_in_cycles_are_collected(add: CompiledKernel) -> None:
    class Holder:
        calls: Any

    x, holder = numbers(), Holder()
    holder.calls = CALL_TABLE(4, lambda *_, held=holder: held)  # type: ignore[misc]
    holder.calls.add((holder,), (x,), planned(add, x))
    watched = weakref.ref(holder)
    del holder
    gc.collect()
    assert watched() is None


class Adder(KnownCalls):
    """Calls of ``y = x + 1`` through a table."""

    def __new__(cls, calls: Any) -> "Adder":
        return super().__new__(cls, calls.run)

    def _called(self, *arguments: Any, **named: Any) -> Any:
        return "missed", arguments, named


def test_objects_whose_calls_a_table_knows(add: CompiledKernel) -> None:
    x, calls = numbers(), table()
    adder = Adder(calls)
    assert adder(x) == ("missed", (x,), {})
    calls.add((), (x,), planned(add, x))
    assert adder(x).tolist() == (x + 1).tolist()
    assert adder(x=x) == ("missed", (), {"x": x})
    assert adder(x, True) == ("missed", (x, True), {})
    assert adder(*range(20)) == ("missed", tuple(range(20)), {})
    with pytest.raises(TypeError, match="the method 'run' of a CallTable"):
        KnownCalls.__new__(KnownCalls, len)
    adder.itself = adder  # type: ignore[attr-defined]
    watched = weakref.ref(adder)
    del adder
    gc.collect()
    assert watched() is None
    assert calls.run((), x).tolist() == (x + 1).tolist()


def test_repeated_calls_of_functions_run_no_python_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def scaled(x: Array, factor: float = 2.0) -> Array:
        return x * factor

    function, x = ps.jit(scaled), np.arange(4.0)
    function(x, 3.0)

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the call is known")

    monkeypatch.setattr(type(function), "_called", refuse)
    assert function(x, 0.5).tolist() == (x * 0.5).tolist()
    with pytest.raises(AssertionError, match="the call is known"):
        function(x, True)
    with pytest.raises(AssertionError, match="the call is known"):
        function(x, factor=3.0)


def test_many_calls_leave_nothing_behind(add: CompiledKernel) -> None:
    x, y, constant = numbers(), numbers(), numbers()
    constant.flags.writeable = False

    def run(count: int) -> list[int]:
        for _ in range(count):
            add(x, y, k=1)
            add(x, k=2)
            add(x=constant, y=y, k=3)
        gc.collect()
        watched = (x, y, constant, x.dtype, add, np.ndarray, NotImplemented)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return [*map(sys.getrefcount, watched), pages * os.sysconf("SC_PAGE_SIZE")]

    *before, memory = run(2_000)
    *after, later = run(10_000)
    assert after == before
    assert later - memory < 500_000


def test_kernels_are_freed_without_the_collector() -> None:
    build = ps.KernelBuilder("freed")
    x = build.inout("x", ps.i32, [3])
    with build.loops(i=3) as i:
        x[i] += 1
    kernel = ps.compile(ps.Schedule(build.kernel()))
    for _ in range(3):
        kernel(numbers(3))
    watched = weakref.ref(kernel)
    gc.disable()
    try:
        del kernel
        assert watched() is None
    finally:
        gc.enable()


def test_several_threads_and_forks(add: CompiledKernel) -> None:
    def work(seed: int) -> bool:
        for turn in range(500):
            x = numbers(turn % 7 + 1)
            if add(x, k=seed).tolist() != list(range(seed, seed + len(x))):
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
        if hasattr(os, "fork"):
            assert holds_in_child(lambda: work(5))


def test_it_can_be_turned_off() -> None:
    code = "from polysched.runtime.native_calls import CALL_TABLE as c; print(c is None)"
    for value in ("", "1"):
        child = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, NO_EXTENSION: value},
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout.strip() == str(bool(value))
