"""Waiting until no thread of this process works: what one contestant leaves behind ends first."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 0.01
"""Seconds that the caller sleeps at a time: a system may count a running thread's time only at its
ticks, which are up to 4 ms apart."""

IDLE = 0.1
"""A process is idle if its threads use less than this share of one core."""

LONGEST = 0.5
"""Seconds after which nobody waits longer: some thread works for a reason of its own."""


def settle(
    clock: Callable[[], float] = time.perf_counter,
    processor: Callable[[], float] = time.process_time,
    pause: Callable[[float], None] = time.sleep,
) -> bool:
    """Sleep until the other threads of this process sleep too, and say whether they do.

    Thread pools wait for their next work by spinning: OpenBLAS' thread goes on for some 25 ms after
    a product, those of OpenMP for 5 to 200 ms. Whoever is measured meanwhile on as many threads
    shares a core with a thread that does nothing, so it is the contestant before that is measured.

    Args:
        clock: seconds since any fixed moment.
        processor: seconds that all threads of this process have worked.
        pause: sleeps for so many seconds.
    """
    start = clock()
    while (now := clock()) - start < LONGEST:
        worked = processor()
        pause(PAUSE)
        if processor() - worked < IDLE * (clock() - now):
            return True
    return False
