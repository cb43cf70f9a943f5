"""A limit on what isl may spend on a question, so that a hostile one is given up in time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError


class QuotaExceededError(PolyschedError):
    """isl was stopped: the question needs more operations than it was given."""


# isl's only sign of this error: its Python binding raises one class for every error.
_EXCEEDED = "maximal number of operations exceeded"


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
    try:
        yield
    except isl.Error as error:
        if _EXCEEDED not in str(error):
            raise
        raise QuotaExceededError(
            f"isl needs more than the {context.get_max_operations():,} operations it was given; "
            "raise the quota, or take fewer or smaller steps"
        ) from None
    finally:
        if outermost:
            context.set_max_operations(0)
            context.reset_operations()
