"""A limit on the time that isl may take: a timer of the operating system stops it from outside.

isl computes in one long call that holds Python's lock, so neither a thread nor a signal handler of
Python runs before it is done. But isl may be told at any time to give up (``isl_ctx_abort``, which
its manual allows to be called asynchronously), and a POSIX timer calls such a function by itself.
Where there are no such timers, or islpy keeps isl's context elsewhere, time is not limited; the
number of operations still is.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import islpy as isl
from islpy import _isl as binding

_MONOTONIC_CLOCK = 1
_PROCESSOR_TIME_OF_THREAD = 3
_NOTIFY_BY_CALL = 2  # SIGEV_THREAD
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_CONTEXT_BYTES = 512
"""Within so many bytes of its start isl's context keeps its limit of operations."""

_NO_LIMIT = 1e9
"""Seconds from which on a limit is none: thirty years."""

_LONGEST_WAIT, _SHORT_WAIT, _PAUSE = 2.0, 0.05, 1e-5
"""Seconds for which what a timer has called is waited for - where it comes, where it may come -
and between two looks.
"""


class _Event(ctypes.Structure):
    """The C library's ``struct sigevent``: what happens when a timer runs out."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_byte * 64),
    )


class _Setting(ctypes.Structure):
    """The C library's ``struct itimerspec``: the interval, then the time until it runs out."""

    _fields_ = (
        ("interval_seconds", ctypes.c_long),
        ("interval_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )

    def is_positive(self) -> bool:
        """Whether there is time left."""
        return bool(self.seconds or self.nanoseconds)


@dataclass(frozen=True)
class _Timers:
    """The timers of the operating system, and what they are to call."""

    create: Callable[..., int]
    set: Callable[..., int]
    get: Callable[..., int]
    delete: Callable[..., int]
    abort: int
    context: int


@contextmanager
def deadline(seconds: float, *, of_processor: bool = False) -> Iterator[None]:
    """Stop isl after some time; what it is computing then fails with an ``isl.Error``.

    Whoever uses this asks afterwards whether isl was stopped (``Context.aborted``) and lets it go
    on (``Context.resume``). Nothing is stopped any more once it has ended.

    Args:
        seconds: wall time for all that is inside; 0 sets no limit.
        of_processor: they are processor time of this thread, which other programs do not shorten.
    """
    # What the system's clock cannot count to is no limit; c_long would take its low bits.
    timers = _timers() if 0 < seconds < _NO_LIMIT else None
    if timers is None:
        yield
        return
    timer = ctypes.c_void_p()
    event = _Event(value=timers.context, notify=_NOTIFY_BY_CALL, function=timers.abort)
    clock = _PROCESSOR_TIME_OF_THREAD if of_processor else _MONOTONIC_CLOCK
    if timers.create(clock, ctypes.byref(event), ctypes.byref(timer)) != 0:
        yield
        return
    whole = int(seconds)
    setting = _Setting(0, 0, whole, max(1, int((seconds - whole) * 1e9)))
    if timers.set(timer, 0, ctypes.byref(setting), None) != 0:
        timers.delete(timer)
        yield
        return
    process = os.getpid()
    try:
        yield
    finally:
        # The child of a process does not have its timers.
        if os.getpid() == process:
            _disarm(timers, timer)
            timers.delete(timer)


def _disarm(timers: _Timers, timer: ctypes.c_void_p) -> None:
    """After this the timer stops nothing any more.

    If it has run out, a thread of the C library is about to stop isl, or has done so; if it runs
    out while it is asked, its message may be lost.
    """
    left = _Setting()
    timers.get(timer, ctypes.byref(left))
    if not left.is_positive():
        _wait_for_the_abort(_LONGEST_WAIT)
        return
    timers.set(timer, 0, ctypes.byref(_Setting()), ctypes.byref(left))
    if not left.is_positive():
        _wait_for_the_abort(_SHORT_WAIT)


def _wait_for_the_abort(seconds: float) -> None:
    """It comes within microseconds, later on a busy machine; never where no thread can be made."""
    end = time.monotonic() + seconds
    while not isl.DEFAULT_CONTEXT.aborted() and time.monotonic() < end:
        time.sleep(_PAUSE)


@cache
def _timers() -> _Timers | None:
    """The timers, None where something of what they need is missing."""
    system, library = ctypes.CDLL(None), ctypes.CDLL(binding.__file__)
    context = _context_address()
    if context is None:
        return None
    with suppress(AttributeError):
        abort = ctypes.cast(library.isl_ctx_abort, ctypes.c_void_p).value
        if abort is not None:
            return _Timers(
                system.timer_create,
                system.timer_settime,
                system.timer_gettime,
                system.timer_delete,
                abort,
                context,
            )
    return None


def _context_address() -> int | None:
    """Where isl keeps its context.

    islpy's object ends with the pointer to it. That it points there is seen by a limit of
    operations that is set to an unusual number: memory that holds it is the context.
    """
    context: Any = isl.DEFAULT_CONTEXT
    end = id(context) + object.__sizeof__(context)
    address = ctypes.c_void_p.from_address(end - _POINTER_BYTES).value
    unusual = 0x5EED_0DD5_1234
    before = context.get_max_operations()
    context.set_max_operations(unusual)
    try:
        found = unusual.to_bytes(8, "little") in _memory_at(address or 0)
    finally:
        context.set_max_operations(before)
    return address if found else None


def _memory_at(address: int) -> bytes:
    """Memory of this process, nothing where there is none: reading it by file cannot crash."""
    try:
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), _CONTEXT_BYTES, address)
    except (OSError, OverflowError):
        return b""
