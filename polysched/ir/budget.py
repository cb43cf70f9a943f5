"""The time of a call: one wall time for all its stages, from its start to its end.

The outermost call that takes ``seconds`` opens the budget. What one stage spends the next does not
have: :func:`polysched.ir.quota.operation_quota` stops isl at the end of the budget. The budget is
about proofs and loop generation. LLVM's time is outside of it; the size of the code bounds that.
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
"""The wall time of a call where the user gives none."""

_MOMENT = 1e-9

_END: ContextVar[float | None] = ContextVar("end", default=None)
"""The moment of the monotonic clock at which the call's time is over; None outside of a budget."""


@contextmanager
def time_budget(seconds: float = DEFAULT_SECONDS) -> Iterator[None]:
    """Bound the wall time of all questions to isl inside together.

    Inside another budget the outer one stays in force, so nested calls share it.

    Args:
        seconds: wall time; 0 sets no limit.

    Raises:
        ScheduleError: ``seconds`` is not a number, or less than 0.
    """
    limit = _checked(seconds)
    if _END.get() is not None:
        yield
        return
    token = _END.set(time.monotonic() + limit if limit else math.inf)
    try:
        yield
    finally:
        _END.reset(token)


def time_left() -> float:
    """The seconds left of the budget in force, a moment where it is spent: 0 would be no limit.

    Outside of a budget a question to isl has the default.
    """
    end = _END.get()
    return DEFAULT_SECONDS if end is None else max(end - time.monotonic(), _MOMENT)


def _checked(given: object) -> float:
    """The seconds as a float; NaN is refused."""
    if not isinstance(given, bool) and isinstance(given, Real):
        with suppress(OverflowError):
            seconds = float(given)
            if seconds >= 0:
                return seconds
    raise ScheduleError(
        f"seconds={given!r}; expected the number of seconds that isl may take, or 0 for no limit"
    )
