"""Operation and time quota for isl, so that pathological queries fail instead of running on.

Only one thread at a time may call isl under a quota, because the limits belong to isl's only
context.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError, ScheduleError
from polysched.forking import Rank, hold_while_forking
from polysched.integers import as_integer
from polysched.ir.isl.budget import is_out_of_time, operations_left, spend, time_left
from polysched.ir.isl.deadline import deadline, operation_counter


class QuotaExceededError(PolyschedError):
    """isl was stopped because it exceeded its operations or its time."""


_LOCK = threading.RLock()
"""Held by the thread that calls isl under a quota."""
hold_while_forking(Rank.ISL, _LOCK)  # so that no other thread's limits apply in the child
_NO_LIMIT = 2**62

MANY_STATEMENTS = 100
"""For programs with more statements the quota grows in proportion to their number."""

_LATE = (
    "isl needs more than the time it was given; give it more seconds, or take fewer or smaller "
    "steps"
)

_SPENT = "the search has spent its isl operations"

_FOLLOW_UP_ERRORS = (TypeError, ValueError, AttributeError)
"""Errors that islpy raises when a stopped isl returned nothing, such as no name or no number."""


@contextmanager
def operation_quota(operations: int, seconds: float = 0) -> Iterator[None]:
    """Limit all isl calls in the block together; afterwards isl is unlimited again.

    Inside another quota the outer quota stays in force. Other threads wait at the start of the
    block.

    Args:
        operations: the limit in isl's unit, elementary steps of its solvers; 0 sets no limit.
        seconds: processor time, in addition to the limit of the call's budget
            (:func:`polysched.ir.isl.budget.time_budget`); 0 uses all that remains of the budget.

    Raises:
        QuotaExceededError: isl exceeded the operations or the time.
    """
    limit = as_integer(operations)
    if limit is None or limit < 0:
        raise ScheduleError(
            f"quota={operations!r}; expected the number of operations that isl may spend, an "
            "integer, or 0 for no limit"
        )
    with _LOCK:
        yield from _limited(limit, min(seconds or math.inf, time_left()))


def in_proportion(operations: int, statements: int) -> int:
    """Scale a quota to a number of statements; it is unchanged up to ``MANY_STATEMENTS``."""
    return operations * max(1, statements // MANY_STATEMENTS)


def _limited(operations: int, seconds: float) -> Iterator[None]:
    context = isl.DEFAULT_CONTEXT
    outermost = context.get_max_operations() == 0
    counter = operation_counter() if outermost else None
    if outermost:
        if is_out_of_time():  # the system notices only every few milliseconds
            raise QuotaExceededError(_LATE)
        left = int(min(operations_left(), _NO_LIMIT))
        if left < 1:
            raise QuotaExceededError(_SPENT)
        context.resume()
        context.reset_operations()
        context.set_max_operations(min(operations or _NO_LIMIT, left))
    error: Exception | None = None
    try:
        with deadline(seconds if outermost else 0):
            yield
    except (isl.Error, PolyschedError, *_FOLLOW_UP_ERRORS) as caught:
        error = caught
    finally:
        limit = context.get_max_operations()
        is_late, is_spent = bool(context.aborted()), _is_spent()
        if counter is not None:
            spend(counter.value)
        if outermost:
            context.resume()
            context.set_max_operations(0)
            context.reset_operations()
    if is_late:
        raise QuotaExceededError(_LATE) from error
    if is_spent:
        raise QuotaExceededError(
            f"isl needs more than the {limit:,} operations it was given; raise the quota, or take "
            "fewer or smaller steps"
        ) from error
    if error is not None:
        raise error


def _is_spent() -> bool:
    """Whether the operation quota is exceeded: isl refuses even a trivial call.

    The raised error does not tell, because isl reports the last error that followed the quota
    error. The block may even end without an error.
    """
    try:
        isl.Val(1)
    except isl.Error:
        return True
    return False
