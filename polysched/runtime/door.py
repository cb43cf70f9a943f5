"""Doors: the short way from Python into kernels, for kinds of calls that have been made before.

What a call checks and decides follows from the element types, shapes, strides and flags of its
arrays, so calls of one kind differ in addresses only. A door remembers kinds: the first call of
a kind goes the long way, through Python, and teaches the door; the next ones are recognized,
checked and run by machine code (:mod:`polysched.runtime.door_code`). What it does not recognize,
overlapping arrays included, goes the long way, which knows all the rules and has the words for
errors.

The long way takes microseconds if all that it touches is in the caches; after a kernel that has
streamed through them, a hundred. The short way touches a few dozen lines.

A kind is kept with everything that its pointers point to, and a call holds on to that until it has
returned, so a slot may be given to another kind at any time.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polysched.errors import LoweringError
from polysched.machine.detect import detect_host
from polysched.runtime.cache import default_cache
from polysched.runtime.door_code import CALL, door_module
from polysched.runtime.door_entrance import entrance
from polysched.runtime.door_key import KEY, key_module
from polysched.runtime.door_table import (
    MOST_ARGUMENTS,
    MOST_ARRAYS,
    MOST_RANK,
    PROBES,
    Kind,
    given_array,
    new_array,
    table_of,
)
from polysched.runtime.jit import Entry, NativeFunction, compile_once
from polysched.runtime.numpy_memory import address_of_empty, arrays_are_known
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.threads import running_calls

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Target:
    """What calls of a kind run.

    Attributes:
        code: the machine code: it takes addresses, then integers, and gives 0 if all is well.
        sources: which of the call's arrays each address is of.
        values: the integers after the addresses.
        threads_at: which of them is the number of threads, if it is decided at each call.
        written: the positions of the arrays that are written.
        result: the position of the array that the call returns.
        allocate: a function and its arguments that give the last array where the call leaves it
            out, always with the same layout.
        is_short: whether the code takes no longer than it takes to give up the GIL and get it back,
            a few microseconds at most; then it keeps it.
    """

    code: Callable[..., int]
    sources: tuple[int, ...]
    values: tuple[int, ...] = ()
    threads_at: int | None = None
    written: tuple[int, ...] = ()
    result: int = -1
    allocate: tuple[Callable[..., NumpyArray], tuple[Any, ...]] | None = None
    is_short: bool = False


class Door:
    """Remembers kinds of calls. ``door.enter(option, *arrays)`` runs one of these.

    ``enter`` returns the call's result, or None if it knows no such call, if what is written
    overlaps something, or if the kernel had no memory: then nothing has been done. The last array
    may be None. ``option`` stands for all other arguments and is compared by identity. Where
    machine code cannot look into Python's objects, ``enter`` knows nothing, whatever it is taught.
    It is one function from the beginning, so that a module can keep it: to look it up takes as long
    as a tenth of a short call.

    Args:
        slots: how many kinds are kept, a power of two.
    """

    def __init__(self, slots: int) -> None:
        layout = table_of(slots)
        self._memory = np.zeros(ctypes.sizeof(layout), np.uint8)
        place = layout.from_buffer(self._memory).entrance
        self.enter = entrance(place, self._memory)
        self._slots = slots
        self._lock = threading.Lock()
        self._kept: list[Any] = [None] * slots

    @functools.cached_property
    def _table(self) -> Any:
        """The memory that the machine code looks into; None where there is no such code."""
        code = _code()
        if code is None:
            return None
        table = table_of(self._slots).from_buffer(self._memory)
        table.array_type, table.none = id(np.ndarray), id(None)
        table.running = ctypes.addressof(running_calls().words)
        table.cores, table.mask = detect_host().cores_usable, self._slots - 1
        table.empty = address_of_empty()
        code.doors.add(self)
        # The last line before calls come in: each of them reads this word.
        table.entrance.function = code.address
        # The function may outlive the door, but not what the door keeps.
        weakref.finalize(self, _clear, table).atexit = False
        return table

    def learn(self, option: Any, arrays: Sequence[NumpyArray | None], target: Target) -> None:
        """Remember that calls with such arrays run ``target``.

        The call has gone the long way without an error. One with arrays that a door does not take
        is not remembered: other classes than numpy's own, negative strides, too many dimensions.

        Args:
            option: an immutable object.
            arrays: those of the call, the last one None if it was left out.
            target: what such calls run.
        """
        present = [array for array in arrays if array is not None]
        allocates = arrays[-1] is None
        if (
            self._table is None
            or max(len(arrays), len(target.sources)) > MOST_ARRAYS
            or len(target.sources) + len(target.values) > MOST_ARGUMENTS
            or (allocates and target.allocate is None)
            or not all(map(_is_taken, present))
        ):
            return
        key = _key(self._table, option, arrays)
        kept = (option, [array.dtype for array in present], target)
        kind = Kind(
            arrays=len(arrays),
            option=id(option),
            kept=id(kept),
            code=_address(target.code),
            pointers=len(target.sources),
            threads_at=-1,
            result=target.result % len(arrays),
            is_short=target.is_short,
            sources=target.sources,
            values=(*(0 for _ in target.sources), *target.values),
            array=tuple(
                given_array(array, position in target.written)
                for position, array in enumerate(present)
            ),
        )
        if target.threads_at is not None:
            kind.threads_at = len(target.sources) + target.threads_at
        if allocates and target.allocate is not None:
            kind.allocate, kind.allocate_arguments = map(id, target.allocate)
            if self._table.empty:
                kind.array[len(present)] = new_array(*target.allocate)
        with self._lock:
            self._keep(key, kind, kept)

    def forget(self) -> None:
        """Remember nothing any more."""
        self._lock = threading.Lock()
        self._table.running = ctypes.addressof(running_calls().words)
        _clear(self._table)

    def _keep(self, key: int, kind: Kind, kept: Any) -> None:
        kinds, mask = self._table.kinds, self._table.mask
        slots = [((key >> 1) + probe) & mask for probe in range(PROBES)]
        slot = next((one for one in slots if not kinds[one].key), slots[0])
        # Other threads may look between these lines. What has no key is not looked at, and what
        # was kept here before is let go last.
        kinds[slot].key = 0
        kinds[slot] = kind
        before, self._kept[slot] = self._kept[slot], kept
        kinds[slot].key = key
        del before


def _clear(table: Any) -> None:
    for kind in table.kinds:
        kind.key = 0


def _is_taken(array: NumpyArray) -> bool:
    return (
        type(array) is np.ndarray
        and array.ndim <= MOST_RANK
        and array.size > 0
        and array.flags.aligned
        and min(array.strides, default=0) >= 0
    )


class _Code:
    """The machine code of all doors.

    Attributes:
        doors: those that are open.
        address: what their functions of Python run.
    """

    def __init__(self) -> None:
        self.doors: weakref.WeakSet[Door] = weakref.WeakSet()
        self._native = _compiled(door_module(), CALL)
        self.address = _address(self._native.call)
        # Functions of Python run it for as long as they are there, be it after everything else.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """In the child of a process: what was learned names a team whose threads are not there."""
        for door in self.doors:
            door.forget()


def _compiled(text: str, symbol: str) -> NativeFunction:
    entry = Entry(symbol, pointers=2, integers=1)
    return compile_once(text, entry, detect_host(), CompileOptions(), default_cache())


def _address(function: Callable[..., int]) -> int:
    """Where the machine code is that a function of ctypes calls."""
    found = ctypes.cast(cast(Any, function), ctypes.c_void_p).value
    assert found is not None
    return found


def _key(table: Any, option: Any, arrays: Sequence[Any]) -> int:
    """The number of a kind of call."""
    given = (ctypes.py_object * (1 + len(arrays)))(option, *arrays)
    return int(_key_function()(ctypes.addressof(table), given, len(given)))


@functools.cache
def _key_function() -> Callable[..., int]:
    native = _compiled(key_module(), KEY)
    arguments = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    # Unlike the function of the module it keeps the GIL: it looks into objects.
    function = ctypes.PYFUNCTYPE(ctypes.c_int64, *arguments)(_address(native.call))
    function.native = native  # type: ignore[attr-defined]
    return function


@functools.cache
def _code() -> _Code | None:
    """The machine code of doors; None where there is no looking into objects from outside."""
    is_usual = (
        sys.implementation.name == "cpython"
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and sys.byteorder == "little"
        and arrays_are_known()
    )
    try:
        return _Code() if is_usual else None
    except LoweringError:  # a function that this Python or this system lacks
        return None
