"""Races of work that moves bytes: each run is compared with a plain copy of as many bytes.

:mod:`polysched.bench.race` runs them, with bytes instead of operations and the rate of copies
instead of the FMA peak.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from polysched.bench.race import Result
from polysched.bench.speedup import Speedup
from polysched.bench.table import contestant_cell
from polysched.runtime.memory import aligned_zeros

BURST = 0.002
"""Shortest burst of copies, in seconds."""


@dataclass(frozen=True)
class Moved:
    """The measurements of one contestant in a race of bytes.

    Attributes:
        work: the work's name.
        contestant: the contestant's name.
        fraction_of_copy: median over the runs of (rate / the plain copy's rate beside the run).
        gigabytes_per_second: median rate, in 1e9 of the work's bytes a second.
        copy_gigabytes_per_second: median of the copies beside the runs.
        runs: number of timed runs.
        max_abs_err: largest absolute difference of the output from the reference.
        held_back: why the contestant's kernels are not the best that this processor could run; None
            if that is not known.
        spread: interquartile range of the fraction of a copy, divided by its median.
    """

    work: str
    contestant: str
    fraction_of_copy: float
    gigabytes_per_second: float
    copy_gigabytes_per_second: float
    runs: int
    max_abs_err: float
    held_back: str | None = None
    spread: float = 0.0


def moved(result: Result) -> Moved:
    """Convert a result of a race whose operations were bytes."""
    return Moved(
        result.kernel,
        result.contestant,
        result.fraction_of_peak,
        result.gflops,
        result.peak_gflops,
        result.runs,
        result.max_abs_err,
        result.held_back,
        result.spread,
    )


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


def speedups(results: Iterable[Moved], own: str, others: Collection[str]) -> tuple[Speedup, ...]:
    """Compute the speedups of the contestant ``own`` over each of ``others`` at the same work.

    Peers that are held back are left out.
    """
    by_work: dict[str, list[Moved]] = {}
    for result in results:
        by_work.setdefault(result.work, []).append(result)
    return tuple(
        Speedup(work, peer.contestant, mine.fraction_of_copy / peer.fraction_of_copy, own)
        for work, group in by_work.items()
        for mine in group
        if mine.contestant == own
        for peer in group
        if peer.contestant in others and peer.held_back is None
    )


def bandwidth_table(results: Sequence[Moved]) -> str:
    """The results as a Markdown table, in the order of the works, the fastest first."""
    works = list(dict.fromkeys(result.work for result in results))
    lines = [
        "| work | contestant | of a copy | GB/s | copy GB/s | runs |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    ordered = sorted(results, key=lambda r: (works.index(r.work), -r.fraction_of_copy))
    lines += [
        f"| {result.work} | {contestant_cell(result)} | {result.fraction_of_copy:.3f} | "
        f"{result.gigabytes_per_second:.1f} | {result.copy_gigabytes_per_second:.1f} | "
        f"{result.runs} |"
        for result in ordered
    ]
    return "\n".join(lines) + "\n"
