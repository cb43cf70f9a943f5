"""Cost model of threads: what a parallel region costs, and how much faster its work runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from polysched.autoscheduler.cost import Cost

REGION_CYCLES = 6_000.0
"""Cycles to start and to end a parallel region while the threads of the team are awake.

Measured on Zen 4 with two threads, in a serial loop of regions: 1.0 to 1.3 us, 2.4 us if each thread
reads megabytes that the other one has written.
"""
LEAST_REGION = 40_000.0
"""Predicted cycles of each run of a loop from which threads share it.

Measured in the same loop, two threads over one: 0.73 for a region of 1.2 us, 1.0 for 2.4 us, 1.4
for 6 us and 1.7 for 26 us.
"""
LEAST_CYCLES = 400_000.0
"""Predicted cycles of a program from which it gets threads: a tenth of a millisecond.

Waking a thread takes 15 to 60 us, so the team wakes none for shorter work (``team_sleep.py``). Calls
of 98 us, one after the other, run at 0.96 of the speed of one thread.
"""
LEAST_THREADED_GAIN = 0.85
"""A loop becomes parallel only if its nest then takes at most this part of its cycles."""
MEMORY_THREADS = 1.5
"""As many threads at most draw lines from memory at full speed.

Measured on Zen 4 with two threads: 1.5 to 1.8 for sums over 288 MB, 1.8 to 2.1 for
``y[i] = 2 * x[i]`` over 512 MB, but 1.0 with other tenants on the machine.
"""


def speedup(cost: Cost, threads: float) -> float:
    """Return how many times faster threads run a statement if all of them are busy."""
    return min(threads, MEMORY_THREADS) if cost.bound == "memory" else threads


def least_shared(costs: Iterable[Cost], threads: int) -> float:
    """Return the cycles of statements with all threads busy: no form of the nest takes fewer."""
    return sum(cost.cycles / speedup(cost, threads) for cost in costs)


def shared_cycles(costs: Iterable[Cost], threads: int, trip: float, regions: float) -> float:
    """Predict the cycles of statements in a parallel loop.

    Args:
        trip: iterations of the loop. The last of them leave threads idle.
        regions: runs of the loop.
    """
    rounds = math.ceil(trip / threads - 1e-9) * threads / max(1.0, trip)
    return least_shared(costs, threads) * rounds + regions * REGION_CYCLES


def scaled(costs: Mapping[str, Cost], names: Iterable[str], cycles: float) -> dict[str, Cost]:
    """Return the costs with those of some statements scaled to a sum of cycles."""
    chosen = frozenset(names)
    share = cycles / max(1.0, sum(costs[name].cycles for name in chosen))
    return {
        name: replace(cost, cycles=cost.cycles * share, compute=cost.compute * share)
        if name in chosen
        else cost
        for name, cost in costs.items()
    }
