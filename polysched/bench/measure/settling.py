"""Wait until the threads of this process are idle, so that no contestant disturbs the next."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 0.01
"""Seconds of each sleep. A system may account a running thread's time only at its ticks, which are
up to 4 ms apart."""

IDLE = 0.1
"""A process is idle if its threads use less than this share of one core."""

LONGEST = 0.5
"""Give up after this many seconds: some thread is busy for another reason."""


def settle(
    clock: Callable[[], float] = time.perf_counter,
    processor: Callable[[], float] = time.process_time,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Sleep until the other threads of this process are idle, and return whether they are.

    Thread pools wait for work by spinning: OpenBLAS for some 25 ms after a product, OpenMP for 5 to
    200 ms. Without the wait, the next contestant would share a core with a spinning thread of the
    previous contestant.

    Args:
        clock: seconds since any fixed moment.
        processor: seconds that all threads of this process have worked.
        pause: sleeps for a number of seconds.
    """
    start = clock()
    while (now := clock()) - start < LONGEST:
        worked = processor()
        pause(PAUSE)
        if processor() - worked < IDLE * (clock() - now):
            return True
    return False
