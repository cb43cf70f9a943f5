"""What several questions to isl may spend: so many operations each, and a wall time together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from numbers import Real

from polysched.errors import ScheduleError
from polysched.ir.integers import as_integer
from polysched.ir.quota import DEFAULT_SECONDS, QuotaExceededError, operation_quota


@dataclass(frozen=True)
class Budget:
    """The operations of one question, and the moment (of the monotonic clock) to stop at."""

    operations: int
    end: float

    @contextmanager
    def question(self) -> Iterator[None]:
        """Limit all isl calls inside to what is left.

        Raises:
            QuotaExceededError: the operations are spent, or the time has passed.
        """
        left = self.end - time.monotonic()
        if left <= 0:
            raise QuotaExceededError("the time for all questions to isl has passed")
        with operation_quota(self.operations, 0 if math.isinf(left) else left):
            yield


def budget(operations: int, seconds: float = DEFAULT_SECONDS) -> Budget:
    """A budget that begins now.

    Args:
        operations: of one question; 0 sets no limit.
        seconds: of all questions; 0 sets no limit.

    Raises:
        ScheduleError: a limit is no number, or less than 0.
    """
    limit = _seconds(seconds)
    return Budget(_operations(operations), time.monotonic() + limit if limit else math.inf)


def _operations(given: object) -> int:
    """The operations as an integer of Python's; numpy's do as well."""
    number = as_integer(given)
    if number is None or number < 0:
        raise ScheduleError(
            f"quota={given!r}; expected the number of operations that isl may spend, an integer, "
            "or 0 for no limit"
        )
    return number


def _seconds(given: object) -> float:
    """The seconds, if they are some; NaN is none."""
    if not isinstance(given, bool) and isinstance(given, Real):
        with suppress(OverflowError):
            seconds = float(given)
            if seconds >= 0:
                return seconds
    raise ScheduleError(
        f"seconds={given!r}; expected the number of seconds that isl may take, or 0 for no limit"
    )
