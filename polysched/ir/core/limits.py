"""Resource limits of declarations, so that a pathological declaration ends in a clear error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError
from polysched.ir.isl.quota import QuotaExceededError, operation_quota

DECLARATION_QUOTA = 500_000
"""Maximum isl operations to declare or print one bound, condition, subscript or statement."""
DECLARATION_SECONDS = 5.0
"""Maximum processor time of the same, so that it does not depend on the load of the machine."""

DEEPEST_NEST = 64
"""Maximum loops around a statement; deeper nests run into limits of Python, isl and LLVM."""


@contextmanager
def limited(error: type[PolyschedError], message: str) -> Iterator[None]:
    """Limit the operations and time of all isl calls in the block together.

    It may also decorate a function.

    Args:
        error: the exception to raise if isl gives up.
        message: the start of the exception's message: the failed action and its object.
    """
    try:
        with operation_quota(DECLARATION_QUOTA, DECLARATION_SECONDS):
            yield
    except QuotaExceededError:
        raise error(
            f"{message}: isl needs too long; make bounds, conditions and subscripts simpler"
        ) from None
    except isl.Error as caught:
        raise error(f"{message}: {caught}") from None
