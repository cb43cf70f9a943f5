"""Doors: what they take, what they leave to the long way, and what happens around a call."""

import ctypes
import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np
import pytest

from polysched.runtime import door as door_module
from polysched.runtime.door import Door, Target
from polysched.runtime.door_table import MOST_ARRAYS, MOST_RANK, PROBES
from polysched.runtime.threads import running_calls

ARRAYS = (ctypes.c_void_p, ctypes.c_void_p)


class Spy:
    """Machine code in appearance: a Python function that sees what a kernel would be given."""

    def __init__(self, words: int = 2, status: int = 0) -> None:
        self.calls: list[tuple[int, ...]] = []
        self.counts: list[int] = []
        self.status = status
        self.code = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * words)(self._run)

    def _run(self, *words: int) -> int:
        self.calls.append(words)
        self.counts.append(sum(running_calls().words))
        return self.status


@pytest.fixture
def spy() -> Spy:
    return Spy()


@pytest.fixture(autouse=True)
def needs_doors() -> None:
    if door_module._code() is None:
        pytest.skip("this Python has no doors")


def taught(
    spy: Spy, a: np.ndarray[Any, Any], out: np.ndarray[Any, Any] | None, **more: Any
) -> Door:
    door = Door(8)
    door.learn(None, [a, out], Target(spy.code, (0, 1), written=(1,), **more))
    return door


@pytest.mark.unguarded
def test_a_kind_that_was_learnt_runs_with_the_addresses_of_the_call(spy: Spy) -> None:
    a, out = np.zeros((3, 4), np.float32), np.zeros(5)
    door = taught(spy, a, out)
    other = np.zeros((3, 4), np.float32)
    assert door.enter(None, other, out) is out
    assert spy.calls == [(other.ctypes.data, out.ctypes.data)]


@pytest.mark.parametrize("is_short", [True, False])
def test_short_code_keeps_the_lock_of_the_interpreter(is_short: bool) -> None:
    """The code is what tells whether it is held; what is not 0 is a failure."""
    a, out = np.zeros(3), np.zeros(3)
    door = Door(8)
    tell = ctypes.PyDLL(None).PyGILState_Check
    door.learn(None, [a, out], Target(tell, (0, 1), written=(1,), is_short=is_short))
    assert (door.enter(None, a, out) is None) == is_short


def test_nothing_is_known_before(spy: Spy) -> None:
    door = Door(8)
    assert door.enter(None, np.zeros(3), np.zeros(3)) is None
    assert not spy.calls


STRUCTURE = np.dtype([("x", "i4")])


@pytest.mark.parametrize(
    "other",
    [
        np.zeros((3, 5), np.float32),
        np.zeros((4, 3), np.float32),
        np.zeros((3, 4, 1), np.float32),
        np.zeros(12, np.float32),
        np.zeros((3, 4), np.float64),
        np.zeros((3, 4), np.int32),
        np.zeros((3, 4), ">f4"),
        np.zeros((3, 4), STRUCTURE),
        np.zeros((3, 8), np.float32)[:, ::2],
        np.zeros((3, 4), np.float32)[::-1],
        np.zeros((3, 4), np.float32, order="F"),
        np.broadcast_to(np.float32(0), (3, 4)),
        np.zeros(49, np.uint8)[1:].view(np.float32).reshape(3, 4),
        np.ma.zeros((3, 4), np.float32),
        np.zeros((1,) * (MOST_RANK + 1), np.float32),
        [[0.0]],
        3,
        None,
        "array",
        memoryview(b"abc"),
    ],
    ids=lambda value: f"{type(value).__name__}{getattr(value, 'shape', '')}",
)
def test_what_differs_goes_the_long_way(spy: Spy, other: Any) -> None:
    a, out = np.zeros((3, 4), np.float32), np.zeros(5)
    door = taught(spy, a, out)
    assert door.enter(None, other, out) is None
    assert not spy.calls


@pytest.mark.unguarded
def test_strides_count_where_the_kind_has_gaps(spy: Spy) -> None:
    memory, out = np.zeros((8, 8), np.float32), np.zeros(5)
    door = taught(spy, memory[::2, :3], out)
    assert door.enter(None, memory[1::2, 2:5], out) is out
    assert door.enter(None, memory[:4, :3], out) is None
    assert spy.calls == [(memory[1, 2:].ctypes.data, out.ctypes.data)]


def test_a_dimension_without_elements_in_between(spy: Spy) -> None:
    a, out = np.zeros(()), np.zeros((1, 1))
    assert taught(spy, a, out).enter(None, np.ones(()), out) is out


@pytest.mark.parametrize("count", [0, 1, 3, MOST_ARRAYS, MOST_ARRAYS + 1, MOST_ARRAYS + 20])
def test_another_number_of_arrays(spy: Spy, count: int) -> None:
    a = np.zeros(4)
    door = taught(spy, a, np.zeros(4))
    assert door.enter(None, *[a] * count) is None
    assert door.enter() is None


def test_options_are_compared_by_identity(spy: Spy) -> None:
    door, a, out = Door(8), np.zeros(3), np.zeros(3)
    axes = (1, 0)
    door.learn(axes, [a, out], Target(spy.code, (0, 1), written=(1,)))
    assert door.enter(axes, a, out) is out
    assert door.enter(tuple([1, 0]), a, out) is None  # noqa: C409 - another object
    assert door.enter(None, a, out) is None


def test_an_option_is_kept_alive(spy: Spy) -> None:
    door, a, out = Door(8), np.zeros(3), np.zeros(3)

    class Option:
        pass

    option = Option()
    watched = weakref.ref(option)
    door.learn(option, [a, out], Target(spy.code, (0, 1), written=(1,)))
    del option
    gc.collect()
    assert watched() is not None


def test_what_is_written_must_be_writable_and_apart(spy: Spy) -> None:
    memory = np.zeros(20)
    a, out = memory[:10], memory[10:]
    door = taught(spy, a, out)
    assert door.enter(None, memory[:10], memory[10:]) is not None
    assert door.enter(None, memory[:10], memory[9:19]) is None
    assert door.enter(None, memory[1:11], memory[10:]) is None
    assert door.enter(None, a, a) is None
    out.flags.writeable = False
    assert door.enter(None, a, out) is None
    assert len(spy.calls) == 1


def test_what_is_only_read_may_be_read_only_and_shared() -> None:
    spy = Spy(3)
    a, out = np.zeros(4), np.zeros(4)
    a.flags.writeable = False
    door = Door(4)
    door.learn(None, [a, a, out], Target(spy.code, (0, 1, 2), written=(2,)))
    assert door.enter(None, a, a, out) is out


@pytest.mark.unguarded
def test_order_integers_and_result() -> None:
    spy = Spy(5)
    a, b, out = np.zeros(2), np.zeros(3), np.zeros(4)
    door = Door(4)
    target = Target(spy.code, (2, 0, 1), (7, 1 << 40), written=(1,), result=1)
    door.learn(None, [a, b, out], target)
    assert door.enter(None, a, b, out) is b
    assert spy.calls == [(out.ctypes.data, a.ctypes.data, b.ctypes.data, 7, 1 << 40)]


@pytest.mark.unguarded
def test_an_output_that_is_left_out_is_allocated(spy: Spy) -> None:
    a = np.zeros(3)
    door = taught(spy, a, None, allocate=(np.empty, ((2, 2), np.int16)))
    first, second = door.enter(None, a, None), door.enter(None, a, None)
    assert (first.shape, first.dtype) == ((2, 2), np.int16)
    assert first is not second
    assert spy.calls == [(a.ctypes.data, one.ctypes.data) for one in (first, second)]
    assert sys.getrefcount(first) == 2
    assert door.enter(None, a, np.zeros((2, 2), np.int16)) is None  # another kind


@pytest.mark.parametrize("has_api", [True, False])
def test_new_arrays_of_numpy(spy: Spy, has_api: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not has_api:
        monkeypatch.setattr(door_module, "address_of_empty", lambda: None)
    a, element = np.zeros((2, 3)), np.dtype([("x", "i2"), ("y", "f4")])
    before = sys.getrefcount(element)
    for shape in ((), (7,), (3, 5), (1, 2, 3, 1, 2, 1), (2,) * 8):
        door = taught(spy, a, None, allocate=(np.empty, (shape, element)))
        made = [door.enter(None, a, None) for _ in range(3)]
        assert [(one.shape, one.dtype, one.flags.c_contiguous) for one in made] == [
            (shape, element, True)
        ] * 3
        assert [where for _, where in spy.calls[-3:]] == [one.ctypes.data for one in made]
    del made, door
    gc.collect()
    assert sys.getrefcount(element) == before


def test_an_output_is_given_and_the_kind_allocates(spy: Spy) -> None:
    a, out = np.zeros(3), np.zeros((2, 2), np.int16)
    door = taught(spy, a, out, allocate=(np.empty, ((2, 2), np.int16)))
    assert door.enter(None, a, out) is out
    assert door.enter(None, a, None) is None


def test_no_memory_for_an_output_goes_the_long_way(spy: Spy) -> None:
    def lacking() -> Any:
        raise MemoryError

    a = np.zeros(3)
    door = taught(spy, a, None, allocate=(lacking, ()))
    assert door.enter(None, a, None) is None
    assert not spy.calls


@pytest.mark.parametrize("is_given", [True, False])
def test_no_memory_for_a_workspace_goes_the_long_way(is_given: bool) -> None:
    spy = Spy(status=1)
    made: list[Any] = []

    def allocate() -> Any:
        array = np.zeros(3)
        made.append(weakref.ref(array))
        return array

    a, out = np.zeros(3), np.zeros(3) if is_given else None
    door = taught(spy, a, out, allocate=(allocate, ()))
    assert door.enter(None, a, out) is None
    assert len(spy.calls) == 1
    assert all(one() is None for one in made)


def test_references_are_given_back(spy: Spy) -> None:
    a, out = np.zeros(3), np.zeros(3)
    door = taught(spy, a, out)
    before = [sys.getrefcount(one) for one in (a, out, None, door._kept)]
    for _ in range(1000):
        door.enter(None, a, out)
        door.enter(None, a, a)
        door.enter(1, a)
    after = [sys.getrefcount(one) for one in (a, out, None, door._kept)]
    assert [abs(x - y) < 100 for x, y in zip(before, after, strict=True)] == [True] * 4


def test_many_kinds_share_few_slots() -> None:
    door = Door(PROBES)
    spies = []
    out = np.zeros(3)
    for extent in range(1, 40):
        spy = Spy()
        door.learn(None, [np.zeros(extent), out], Target(spy.code, (0, 1), written=(1,)))
        spies.append(spy)
        assert door.enter(None, np.zeros(extent), out) is out
    for extent in range(1, 40):
        door.enter(None, np.zeros(extent), out)
    # What was driven out goes the long way, what is left runs what it was taught.
    assert all(len(spy.calls) in (1, 2) for spy in spies)
    assert 1 <= sum(len(spy.calls) == 2 for spy in spies) <= PROBES


def test_what_is_kept_is_let_go_with_the_slot() -> None:
    door, out = Door(1), np.zeros(3)
    first = Spy()
    watched = weakref.ref(first.code)
    door.learn(None, [np.zeros(1), out], Target(first.code, (0, 1), written=(1,)))
    del first
    door.learn(None, [np.zeros(2), out], Target(Spy().code, (0, 1), written=(1,)))
    gc.collect()
    assert watched() is None


def test_a_slot_may_be_given_away_during_a_call() -> None:
    door, a, out = Door(1), np.zeros(1), np.zeros(3)
    seen: list[bool] = []
    other = Spy()

    def run(*_: int) -> int:
        door.learn(None, [np.zeros(2), out], Target(other.code, (0, 1), written=(1,)))
        gc.collect()
        seen.append(watched() is not None)
        return 0

    code: Callable[..., int] = ctypes.CFUNCTYPE(ctypes.c_int32, *ARRAYS)(run)
    watched = weakref.ref(code)
    door.learn(None, [a, out], Target(code, (0, 1), written=(1,)))
    del code
    assert door.enter(None, a, out) is out
    assert seen == [True]
    gc.collect()
    assert watched() is None


def test_calls_are_counted(spy: Spy) -> None:
    a, out = np.zeros(1), np.zeros(3)
    door = taught(spy, a, out)
    door.enter(None, a, out)
    with running_calls():
        door.enter(None, a, out)
    assert spy.counts == [1, 2]
    assert sum(running_calls().words) == 0


def test_threads_are_shared_among_the_calls_that_run(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = Spy(4)
    a, out = np.zeros(1), np.zeros(3)
    door = Door(4)
    door.learn(None, [a, out], Target(spy.code, (0, 1), (99, 0), threads_at=1, written=(1,)))
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    for cores, calls, expected in [
        (1, 0, 1),
        (1 << 20, 0, usable),
        (1 << 20, usable, 1),
        (1 << 20, 3 * usable, 1),
    ]:
        door._table.cores = cores
        with several(calls):
            door.enter(None, a, out)
        assert spy.calls[-1][2:] == (99, expected)


def several(calls: int) -> ExitStack:
    stack = ExitStack()
    for _ in range(calls):
        stack.enter_context(running_calls())
    return stack


def test_threads_learn_and_enter_at_the_same_time() -> None:
    door = Door(4)
    wrong: list[int] = []
    ran = [0] * 12

    def run(extent: int, a: int, out: int) -> int:
        del a, out
        ran[extent] += 1
        return 0

    codes = [ctypes.CFUNCTYPE(ctypes.c_int32, *ARRAYS)(partial(run, n)) for n in range(12)]

    def work(start: int) -> None:
        out = np.zeros(3)
        for turn in range(400):
            extent = (start + turn) % 12
            a = np.zeros(extent + 1)
            before = ran[extent]
            if door.enter(None, a, out) is None:
                target = Target(codes[extent], (0, 1), written=(1,))
                door.learn(None, [a, out], target)
            elif ran[extent] == before:
                wrong.append(extent)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(3 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert sum(ran) > 0
    assert sum(running_calls().words) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_of_a_process_has_learnt_nothing(spy: Spy) -> None:
    a, out = np.zeros(3), np.zeros(3)
    door = taught(spy, a, out)
    with running_calls():
        child = os.fork()
        if not child:
            again = Target(spy.code, (0, 1), written=(1,))
            forgotten = door.enter(None, a, out) is None
            door.learn(None, [a, out], again)
            os._exit(0 if forgotten and door.enter(None, a, out) is out else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert door.enter(None, a, out) is out


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((1,) * (MOST_RANK + 1)),
        np.zeros((0, 3)),
        np.zeros(6)[::-1],
        np.ma.zeros(3),
        np.zeros(17, np.uint8)[1:].view(np.float64),
    ],
    ids=["rank", "empty", "reversed", "subclass", "misaligned"],
)
def test_what_a_door_does_not_take_is_not_learnt(spy: Spy, array: Any) -> None:
    out = np.zeros(3)
    door = taught(spy, array, out)
    assert door.enter(None, array, out) is None


def test_too_much_is_not_learnt(spy: Spy) -> None:
    a, door = np.zeros(3), Door(4)
    door.learn(None, [a] * (MOST_ARRAYS + 1), Target(spy.code, (0,)))
    door.learn(None, [a], Target(spy.code, (0,), tuple(range(40))))
    door.learn(None, [a, None], Target(spy.code, (0, 1)))
    assert not any(kind.key for kind in door._table.kinds)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    door_module._code.cache_clear()
    monkeypatch.setattr(door_module, "arrays_are_known", lambda: False)
    yield
    monkeypatch.undo()
    door_module._code.cache_clear()


@pytest.mark.usefixtures("closed")
def test_without_machine_code_nothing_is_learnt(spy: Spy) -> None:
    a, out = np.zeros(3), np.zeros(3)
    door = taught(spy, a, out)
    assert door.enter(None, a, out) is None


def test_functions_outlive_their_door(spy: Spy) -> None:
    a, out = np.zeros(3), np.zeros(3)
    door = taught(spy, a, out)
    enter = door.enter
    del door
    gc.collect()
    assert enter(None, a, out) is None
    assert not spy.calls
