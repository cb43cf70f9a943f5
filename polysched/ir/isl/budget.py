"""Time budget of a call, shared by all its stages.

The outermost call that takes ``seconds`` opens the budget. Each stage has only the time that
earlier stages left: :func:`polysched.ir.isl.quota.operation_quota` stops isl at the end of the
budget. The budget covers proofs and loop generation. It does not cover LLVM, whose time is bounded
by a limit on the size of the code.

Time is processor time of the calling thread: a proof must not fail because the machine is busy.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from numbers import Real

from polysched.errors import ScheduleError

DEFAULT_SECONDS = 10.0
"""Default time budget of a question about a schedule, such as a proof."""

SAFETY_SECONDS = 120.0
"""Default time budget of a search and of loop generation.

Their results must not depend on the speed of the machine: isl's operations limit them, and this
time is far more than the operations take.
"""

_SMALLEST_LIMIT = 1e-9
"""Seconds that remain when the budget is spent; positive, because 0 means no limit."""

_END: ContextVar[float | None] = ContextVar("end", default=None)
"""End of the budget as processor time of the thread; None outside a budget."""


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
def part_of_time(part: float) -> Iterator[None]:
    """Bound the block by a part of the time that is left, so that later stages have the rest."""
    end = _END.get()
    if end is None or math.isinf(end):
        yield
        return
    token = _END.set(end - (1.0 - part) * time_left())
    try:
        yield
    finally:
        _END.reset(token)


def is_out_of_time() -> bool:
    """Whether the budget is spent: isl is stopped in each call."""
    return time_left() <= _SMALLEST_LIMIT


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
