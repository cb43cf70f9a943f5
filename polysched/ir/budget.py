"""What several questions to isl may spend: so many operations each, and a wall time together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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
    """
    return Budget(operations, time.monotonic() + seconds if seconds else math.inf)
