"""Limits on what a declaration may ask of isl, so that a hostile one ends in a clear error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import islpy as isl

from polysched.errors import PolyschedError
from polysched.ir.quota import QuotaExceededError, operation_quota

DECLARATION_QUOTA = 500_000
"""Operations of isl for one bound, condition, subscript or statement, and for printing one."""
DECLARATION_SECONDS = 5.0

DEEPEST_NEST = 64
"""Loops around a statement: deeper ones run into limits of Python, isl and LLVM."""


@contextmanager
def limited(error: type[PolyschedError], message: str) -> Iterator[None]:
    """Limit all isl calls inside together, as a declaration needs it.

    It may also decorate a function.

    Args:
        error: what is raised where isl gives up.
        message: what could not be done, and with what.
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
