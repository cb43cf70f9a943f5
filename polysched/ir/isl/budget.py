"""Time budget of a call, and isl operations of a search, shared by all stages.

The outermost call that takes ``seconds`` opens the budget. Each stage has only the time that
earlier stages left: :func:`polysched.ir.isl.quota.operation_quota` stops isl at the end of the
budget. The budget covers proofs and loop generation. It does not cover LLVM, whose time is bounded
by a limit on the size of the code.

Time is processor time of the calling thread: a proof must not fail because the machine is busy.

A search also has a limit on the sum of isl's operations (:func:`operation_budget`). Unlike time,
operations are the same in each run, so a search that they end gives the same schedule.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Real

from polysched.errors import ScheduleError

DEFAULT_SECONDS = 10.0
"""Default time budget of a question about a schedule, such as a proof."""

SAFETY_SECONDS = 120.0
"""Default time budget of a search and of loop generation.

Their results must not depend on the speed of the machine: isl's operations limit them, and this
time is far more than the operations take.
"""


@dataclass
class _Spent:
    """The isl operations that a search has spent so far."""

    operations: int = 0


_SMALLEST_LIMIT = 1e-9
"""Seconds that remain when the budget is spent; positive, because 0 means no limit."""

_END: ContextVar[float | None] = ContextVar("end", default=None)
"""End of the budget as processor time of the thread; None outside a budget."""

_OPERATIONS: ContextVar[tuple[_Spent, float] | None] = ContextVar("operations", default=None)
"""The operations that a search has spent, and those at which it ends; None outside a search."""


@contextmanager
def time_budget(seconds: float = DEFAULT_SECONDS) -> Iterator[None]:
    """Bound the total time of all isl calls in the block.

    Inside another budget the outer budget stays in force, so nested calls share it.

    Args:
        seconds: processor time of this thread; 0 sets no limit.

    Raises:
        ScheduleError: ``seconds`` is not a number, or is negative.
    """
    limit = _checked(seconds)
    if _END.get() is not None:
        yield
        return
    token = _END.set(time.thread_time() + limit if limit else math.inf)
    try:
        yield
    finally:
        _END.reset(token)


@contextmanager
def operation_budget(operations: int) -> Iterator[None]:
    """Bound the sum of the operations of all isl calls in the block that have a quota."""
    token = _OPERATIONS.set((_Spent(), operations))
    try:
        yield
    finally:
        _OPERATIONS.reset(token)


@contextmanager
def part_of_budget(part: float) -> Iterator[None]:
    """Bound the block by a part of the time and of the operations that are left.

    Later stages have the rest.
    """
    end, search = _END.get(), _OPERATIONS.get()
    if end is not None and not math.isinf(end):
        end -= (1.0 - part) * time_left()
    if search is not None:
        spent, last = search
        search = (spent, last - (1.0 - part) * operations_left())
    tokens = _END.set(end), _OPERATIONS.set(search)
    try:
        yield
    finally:
        _END.reset(tokens[0])
        _OPERATIONS.reset(tokens[1])


def is_budget_spent() -> bool:
    """Whether no time or no operation is left: isl is stopped in each call that has a quota."""
    return is_out_of_time() or operations_left() == 0


def is_out_of_time() -> bool:
    """Whether the time is spent."""
    return time_left() <= _SMALLEST_LIMIT


def operations_left() -> float:
    """The operations that remain of the search's budget; infinity outside a search."""
    search = _OPERATIONS.get()
    return math.inf if search is None else max(0, search[1] - search[0].operations)


def spend(operations: int) -> None:
    """Count operations of isl against the search's budget, if there is one."""
    search = _OPERATIONS.get()
    if search is not None:
        search[0].operations += operations


def time_left() -> float:
    """The seconds that remain of the current budget; outside a budget `DEFAULT_SECONDS`.

    The result is always positive, because a limit of 0 would mean no limit.
    """
    end = _END.get()
    return DEFAULT_SECONDS if end is None else max(end - time.thread_time(), _SMALLEST_LIMIT)


def _checked(seconds: object) -> float:
    if not isinstance(seconds, bool) and isinstance(seconds, Real):
        with suppress(OverflowError):
            number = float(seconds)
            if number >= 0:  # False for NaN
                return number
    raise ScheduleError(
        f"seconds={seconds!r}; expected the number of seconds that isl may take, or 0 for no limit"
    )
