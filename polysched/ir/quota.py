"""A limit on what isl may spend on a question, so that a hostile one is given up in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError


class QuotaExceededError(PolyschedError):
    """isl was stopped: the question needs more operations than it was given."""


@contextmanager
def operation_quota(operations: int) -> Iterator[None]:
    """Give all isl calls inside together so many operations; afterwards isl works as before.

    Inside another quota the outer one stays in force.

    Args:
        operations: isl's own unit, elementary steps of its solvers; 0 sets no limit.

    Raises:
        QuotaExceededError: the operations are spent.
    """
    context = isl.DEFAULT_CONTEXT
    outermost = context.get_max_operations() == 0
    if outermost:
        context.reset_operations()
        context.set_max_operations(operations)
    limit = context.get_max_operations()
    try:
        yield
        error = None
    except isl.Error as caught:
        error = caught
    finally:
        spent = _is_spent()
        if outermost:
            context.set_max_operations(0)
            context.reset_operations()
    if spent:
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
        isl.Set("{ [i] : 0 <= i <= 1 }").is_empty()
    except isl.Error:
        return True
    return False
