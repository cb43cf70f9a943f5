"""A limit on what isl may spend on a question, so that a hostile one is given up in time.

One thread at a time asks, the others wait: isl has one context, and its limits are the context's.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError
from polysched.forking import Rank, hold_while_forking
from polysched.ir.deadline import deadline


class QuotaExceededError(PolyschedError):
    """isl was stopped: the question needs more operations than it was given."""


_TURN = threading.RLock()
"""Held by the thread that asks."""
hold_while_forking(Rank.ISL, _TURN)  # so no other thread's limits are in force in the child
_NO_LIMIT = 2**62
_ABSURD = (TypeError, ValueError, AttributeError)
"""What follows where islpy hands on what a stopped isl returned: no name, no text of a number."""

DEFAULT_SECONDS = 10.0
"""The wall time of a question to isl. It counts where single operations are dear: deep tilings."""


@contextmanager
def operation_quota(
    operations: int, seconds: float = DEFAULT_SECONDS, *, of_processor: bool = False
) -> Iterator[None]:
    """Limit all isl calls inside together; afterwards isl works as before.

    Inside another quota the outer one stays in force. Other threads that come here wait.

    Args:
        operations: isl's own unit, elementary steps of its solvers; 0 sets no limit.
        seconds: wall time; 0 sets no limit.
        of_processor: the seconds are processor time of this thread.

    Raises:
        QuotaExceededError: the operations are spent, or the time has passed.
    """
    with _TURN:
        yield from _limited(operations, seconds, of_processor)


def _limited(operations: int, seconds: float, of_processor: bool) -> Iterator[None]:
    context = isl.DEFAULT_CONTEXT
    outermost = context.get_max_operations() == 0
    if outermost:
        context.resume()
        context.reset_operations()
        context.set_max_operations(min(operations or _NO_LIMIT, _NO_LIMIT))
    error: Exception | None = None
    try:
        with deadline(seconds if outermost else 0, of_processor=of_processor):
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
