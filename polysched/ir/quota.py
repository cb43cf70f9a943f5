"""A limit on what isl may spend on a question, so that a hostile one is given up in time.

One thread at a time asks, the others wait: isl has one context, and its limits are the context's.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError, ScheduleError
from polysched.forking import Rank, hold_while_forking
from polysched.ir.budget import time_left
from polysched.ir.deadline import deadline
from polysched.ir.integers import as_integer


class QuotaExceededError(PolyschedError):
    """isl was stopped: the question needs more operations than it was given."""


_TURN = threading.RLock()
"""Held by the thread that asks."""
hold_while_forking(Rank.ISL, _TURN)  # so no other thread's limits are in force in the child
_NO_LIMIT = 2**62

MANY_STATEMENTS = 100
"""Programs of more statements than these are given operations in proportion to their statements."""

_ABSURD = (TypeError, ValueError, AttributeError)
"""What follows where islpy hands on what a stopped isl returned: no name, no text of a number."""


@contextmanager
def operation_quota(
    operations: int, seconds: float = 0, *, of_processor: bool = False
) -> Iterator[None]:
    """Limit all isl calls inside together; afterwards isl works as before.

    Inside another quota the outer one stays in force. Other threads that come here wait.

    Args:
        operations: isl's own unit, elementary steps of its solvers; 0 sets no limit.
        seconds: wall time, of which there is never more than the call's budget has left
            (:func:`polysched.ir.budget.time_budget`); 0 takes all of that.
        of_processor: the seconds are processor time of this thread, within the budget's wall time.

    Raises:
        QuotaExceededError: the operations are spent, or the time has passed.
        ScheduleError: ``operations`` is not an integer, or less than 0.
    """
    limit = as_integer(operations)
    if limit is None or limit < 0:
        raise ScheduleError(
            f"quota={operations!r}; expected the number of operations that isl may spend, an "
            "integer, or 0 for no limit"
        )
    with _TURN:
        wall = time_left() if of_processor else min(seconds or math.inf, time_left())
        yield from _limited(limit, wall, seconds if of_processor else 0)


def in_proportion(operations: int, statements: int) -> int:
    """The operations for so many statements, given those for up to ``MANY_STATEMENTS``."""
    return operations * max(1, statements // MANY_STATEMENTS)


def _limited(operations: int, wall: float, processor: float) -> Iterator[None]:
    context = isl.DEFAULT_CONTEXT
    outermost = context.get_max_operations() == 0
    if outermost:
        context.resume()
        context.reset_operations()
        context.set_max_operations(min(operations or _NO_LIMIT, _NO_LIMIT))
    error: Exception | None = None
    try:
        with (
            deadline(wall if outermost else 0),
            deadline(processor if outermost else 0, of_processor=True),
        ):
            yield
    except (isl.Error, PolyschedError, *_ABSURD) as caught:
        error = caught
    finally:
        limit = context.get_max_operations()
        is_late, is_spent = bool(context.aborted()), _is_spent()
        if outermost:
            context.resume()
            context.set_max_operations(0)
            context.reset_operations()
    if is_late:
        raise QuotaExceededError(
            "isl needs more than the time it was given; give it more seconds, or take fewer or "
            "smaller steps"
        ) from error
    if is_spent:
        raise QuotaExceededError(
            f"isl needs more than the {limit:,} operations it was given; raise the quota, or take "
            "fewer or smaller steps"
        ) from error
    if error is not None:
        raise error


def _is_spent() -> bool:
    """Whether isl refuses even a trivial question.

    The error that was raised need not tell: isl reports the last of the errors that follow the one
    of the quota. This is also why a block without any error is asked.
    """
    try:
        isl.Val(1)
    except isl.Error:
        return True
    return False
