"""The peak of work that moves bytes: a plain copy of as many bytes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from polysched.runtime.memory import aligned_zeros

BURST = 0.002
"""Shortest burst of copies, in seconds."""


def copy_burst(size: int, clock: Callable[[], float] = time.perf_counter) -> Callable[[], float]:
    """A burst of plain copies of ``size`` bytes: bytes copied a second, each counted once.

    The two buffers are written once before, so that their pages are there.
    """
    source, target = (aligned_zeros((size,), np.uint8) for _ in range(2))
    source.fill(1)
    np.copyto(target, source)

    def burst() -> float:
        times = []
        begin = now = clock()
        while now - begin < BURST:
            np.copyto(target, source)
            before, now = now, clock()
            times.append(now - before)
        return size / statistics.median(times)

    return burst
