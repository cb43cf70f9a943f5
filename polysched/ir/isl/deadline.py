"""Limit of the processor time of isl calls, enforced by a POSIX timer.

An isl call holds Python's global interpreter lock, so no Python thread or signal handler can stop
it. But ``isl_ctx_abort`` makes isl give up and, by isl's manual, may be called asynchronously. A
POSIX timer calls it from a thread of the C library. If the system has no such timers, or the
address of isl's context is not found, time is not limited; the number of operations still is.

The timer counts the processor time of the thread, so that the load of the machine decides nothing.
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

from polysched.ir.isl.own_memory import memory_at

_PROCESSOR_TIME_OF_THREAD = 3
_NOTIFY_BY_CALL = 2  # SIGEV_THREAD
_POINTER_BYTES = ctypes.sizeof(ctypes.c_void_p)
_CONTEXT_BYTES = 512
"""The operation limit is stored within this many bytes from the start of isl's context."""

_UNUSUAL = 0x5EED_0DD5_1234
"""An operation limit that no memory holds by chance."""
_WORD_BYTES = 8

_NO_LIMIT = 1e9
"""Limits of at least this many seconds (thirty years) count as unlimited."""

_POLL_INTERVAL = 1e-5
"""Seconds between two checks whether isl was aborted; with the call, about 70 microseconds pass.

Checks are counted, because wall time also passes while the process is stopped or waits for a
processor, and the thread that aborts isl waits with it.
"""

_CERTAIN_ABORT_CHECKS = 30_000
"""Checks if the timer has expired, so that its callback surely runs: about 2 seconds."""

_POSSIBLE_ABORT_CHECKS = 700
"""Checks if the timer may have expired while it was disarmed: about 0.05 seconds."""


class _Event(ctypes.Structure):
    """The C library's ``struct sigevent``: the action when a timer expires."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("padding", ctypes.c_byte * 64),
    )


class _Setting(ctypes.Structure):
    """The C library's ``struct itimerspec``: the interval, then the time until expiration."""

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
    """Timer functions of the operating system, and the addresses of the callback and its argument.

    Attributes:
        abort: the address of ``isl_ctx_abort``.
        context: the address of isl's context.
    """

    create: Callable[..., int]
    set: Callable[..., int]
    get: Callable[..., int]
    delete: Callable[..., int]
    abort: int
    context: int


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Abort isl calls in the block after a time limit; the running call raises an ``isl.Error``.

    After the block the caller checks ``Context.aborted`` and calls ``Context.resume``. The timer
    never aborts an isl call after the block.

    Args:
        seconds: processor time of this thread for the whole block; 0 sets no limit.
    """
    # A large number of seconds would overflow c_long, which keeps the low bits.
    timers = _timers() if 0 < seconds < _NO_LIMIT else None
    if timers is None:
        yield
        return
    timer = ctypes.c_void_p()
    event = _Event(value=timers.context, notify=_NOTIFY_BY_CALL, function=timers.abort)
    if timers.create(_PROCESSOR_TIME_OF_THREAD, ctypes.byref(event), ctypes.byref(timer)) != 0:
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
        # After a fork the child process does not have the timers of its parent.
        if os.getpid() == process:
            _disarm(timers, timer)
            timers.delete(timer)


def _disarm(timers: _Timers, timer: ctypes.c_void_p) -> None:
    """Stop a timer; afterwards it cannot abort isl any more.

    If the timer has expired, a thread of the C library has aborted isl or is about to. If it
    expires while it is disarmed, the notification may be lost.
    """
    remaining = _Setting()
    timers.get(timer, ctypes.byref(remaining))
    if not remaining.is_positive():
        _wait_for_abort(_CERTAIN_ABORT_CHECKS)
        return
    timers.set(timer, 0, ctypes.byref(_Setting()), ctypes.byref(remaining))
    if not remaining.is_positive():
        _wait_for_abort(_POSSIBLE_ABORT_CHECKS)


def _wait_for_abort(checks: int) -> None:
    """Wait until isl is aborted, for a limited number of checks.

    The abort comes within microseconds, later on a busy machine, and never if the C library cannot
    create its thread.
    """
    for _ in range(checks):
        if isl.DEFAULT_CONTEXT.aborted():
            return
        time.sleep(_POLL_INTERVAL)


@cache
def operation_counter() -> ctypes.c_ulong | None:
    """Find isl's counter of operations, which is stored before their limit; None if it is not.

    isl has no function that returns the counter. To verify it, isl is called and the counter is
    reset, so the first call must come without a limit.
    """
    context: Any = isl.DEFAULT_CONTEXT
    address = _context_address()
    if address is None:
        return None
    context.set_max_operations(_UNUSUAL)
    try:
        at = memory_at(address, _CONTEXT_BYTES).index(_UNUSUAL.to_bytes(_WORD_BYTES, "little"))
    finally:
        context.set_max_operations(0)
    if at < _WORD_BYTES:
        return None
    counter = ctypes.c_ulong.from_address(address + at - _WORD_BYTES)
    values = []
    for _ in range(2):
        context.reset_operations()
        values.append(counter.value)
        isl.Set("{ [i] : 0 <= i < 9 }").is_empty()
        values.append(counter.value)
    context.reset_operations()
    is_counter = values[0] == values[2] == 0 < min(values[1], values[3])
    return counter if is_counter else None


@cache
def _timers() -> _Timers | None:
    """Look up the timer functions; None if a function or isl's context is missing."""
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
    """Find the address of isl's context; None if it cannot be verified.

    The last word of islpy's object is the pointer to the context. To verify it, the operation limit
    is set to an unusual number: memory that contains this number is the context.
    """
    context: Any = isl.DEFAULT_CONTEXT
    end = id(context) + object.__sizeof__(context)
    address = ctypes.c_void_p.from_address(end - _POINTER_BYTES).value
    before = context.get_max_operations()
    context.set_max_operations(_UNUSUAL)
    try:
        memory = memory_at(address or 0, _CONTEXT_BYTES)
        is_context = _UNUSUAL.to_bytes(_WORD_BYTES, "little") in memory
    finally:
        context.set_max_operations(before)
    return address if is_context else None
