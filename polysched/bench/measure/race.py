"""The measuring protocol: contestants in turn, each beside a burst of the machine's own peak."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, UnavailableError
from polysched.bench.measure.peers import PeerKernels
from polysched.bench.measure.running_order import running_order
from polysched.bench.measure.settling import settle
from polysched.errors import BenchError

Clock = Callable[[], float]
"""Seconds since any fixed moment."""

Progress = Callable[[str], None]
"""Receives a short text about the next step. Never called while a run is timed."""

Unit: TypeAlias = Literal["flop", "byte"]
"""Units of rates."""


@dataclass(frozen=True)
class Work:
    """Work at which contestants race.

    Attributes:
        name: its name, with its sizes.
        amount: operations of one call, as the algorithm counts them, or bytes that it moves.
        contestants: with distinct names.
        reference: the right output.
        peak_burst: measures the machine's peak for a few milliseconds; units a second.
        tolerance: an output further from the reference than this is wrong and does not race.
        unit: the unit of `amount`.
    """

    name: str
    amount: float
    contestants: Sequence[Contestant]
    reference: npt.NDArray[Any]
    peak_burst: Callable[[], float]
    tolerance: float = 0.0
    unit: Unit = "flop"

    def __post_init__(self) -> None:
        """Check the fields."""
        names = [contestant.name for contestant in self.contestants]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise BenchError(f"contestants need distinct names; repeated: {', '.join(repeated)}")
        if not self.amount > 0:
            raise BenchError(f"the amount of work must be positive, got {self.amount}")
        if not self.tolerance >= 0:
            raise BenchError(f"tolerance must be at least 0, got {self.tolerance}")


@dataclass(frozen=True)
class Result:
    """The measurements of one contestant in a race.

    Attributes:
        fraction_of_peak: median over the runs of (rate / peak beside the run).
        rate: median rate, in 1e9 units a second.
        peak_rate: median of the peaks beside the runs, in 1e9 units a second.
        max_abs_err: largest absolute difference of the output from the reference.
        held_back: why the contestant's kernels are not the best that this processor could run; None
            if that is not known. No ratio is formed with such a result.
        spread: interquartile range of (rate / peak beside the run), divided by its median.
        unit: ``"flop"``, or ``"byte"`` for work that moves bytes.
    """

    kernel: str
    contestant: str
    fraction_of_peak: float
    rate: float
    peak_rate: float
    runs: int
    max_abs_err: float
    held_back: str | None = None
    spread: float = 0.0
    unit: Unit = "flop"


@dataclass(frozen=True)
class Withdrawn:
    """A contestant that did not race, and why."""

    kernel: str
    contestant: str
    reason: str
    is_defect: bool = False
    """It is polysched's own code, and its output was wrong."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a race: results in the order of the contestants, and withdrawn contestants.

    `peers` are the kernels of other libraries that computed some of the results.
    """

    results: tuple[Result, ...]
    withdrawn: tuple[Withdrawn, ...]
    peers: tuple[PeerKernels, ...] = ()


def joined(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of several races."""
    races = tuple(outcomes)
    return Outcome(
        tuple(result for outcome in races for result in outcome.results),
        tuple(entry for outcome in races for entry in outcome.withdrawn),
        tuple(peer for outcome in races for peer in outcome.peers),
    )


@dataclass(frozen=True)
class Rules:
    """Duration and repetition of a measurement.

    Attributes:
        rounds: in each round every contestant runs once.
        seconds_budget: time limit of the timed part. Each contestant has an equal share. A
            contestant that has used its share, after at least one run, sits out the remaining
            rounds. So a contestant a hundred times slower costs one long run, and the others keep
            their rounds.
        seconds_per_run: a run repeats a call until it takes about this long.
        wait: called before each run; returns when the other threads of this process are idle.
    """

    rounds: int = 15
    seconds_budget: float = 60.0
    seconds_per_run: float = 0.005
    wait: Callable[[], object] = settle

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.rounds < 1:
            raise BenchError(f"a race needs at least 1 round, got rounds={self.rounds}")
        for name in ("seconds_budget", "seconds_per_run"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise BenchError(f"{name} must be a positive number of seconds, got {value}")


@dataclass(frozen=True)
class _Entry:
    """A contestant that has been prepared and checked."""

    contestant: Contestant
    runner: Runner
    calls: int
    max_abs_err: float

    @property
    def name(self) -> str:
        return self.contestant.name

    def kernels(self) -> PeerKernels | None:
        """The library kernels of a peer; None for polysched's own code."""
        find = self.contestant.kernels
        return None if find is None else find(self.name, self.runner.run)


@dataclass(frozen=True)
class _Run:
    """One timed run: its rate and the peak beside it, both in units a second."""

    rate: float
    peak: float


def race(
    work: Work,
    rules: Rules | None = None,
    *,
    clock: Clock = time.perf_counter,
    progress: Progress | None = None,
) -> Outcome:
    """Run the contestants in turn, in this process, and compare each with the machine's peak.

    Every contestant is prepared and run once untimed; that output is compared with the reference
    and the call's length decides how many calls make a run. Then come the rounds: in each, every
    contestant runs once, in an order that changes from round to round (`running_order`), with a
    burst of the peak directly before and after the run. Before the first burst the race waits until
    the threads of the contestant before have gone to sleep (`settling`).

    The peak beside a run is the *larger* of its two bursts. What disturbs a burst (another tenant
    of the core, an interrupt) can only slow it, so the larger is the nearer to what the core
    could do at that moment; a mean would hand the contestant a better fraction whenever a burst
    was disturbed. Disturbed runs are dealt with by the median over the rounds.
    """
    rules = rules or Rules()
    report = progress or _silent
    entries: list[_Entry] = []
    withdrawn: list[Withdrawn] = []
    for contestant in work.contestants:
        report(f"preparing {contestant.name}")
        candidate = _enter(contestant, work, rules, clock)
        if isinstance(candidate, Withdrawn):
            withdrawn.append(candidate)
        else:
            entries.append(candidate)

    runs = _rounds(entries, work, rules, clock, report)
    peers = {entry.name: found for entry in entries if (found := entry.kernels()) is not None}
    results = (
        _result(work, entry, own, peers.get(entry.name))
        for entry, own in zip(entries, runs, strict=True)
    )
    return Outcome(tuple(results), tuple(withdrawn), tuple(peers.values()))


def max_abs_err(output: npt.NDArray[Any], reference: npt.NDArray[Any]) -> float:
    """Largest absolute difference; infinite where exactly one is NaN or the shapes differ.

    Compared as float64, so that a float64 reference keeps its digits.
    """
    if output.shape != reference.shape:
        return math.inf
    if output.size == 0:
        return 0.0
    computed, expected = np.asarray(output, np.float64), np.asarray(reference, np.float64)
    with np.errstate(invalid="ignore"):
        difference = np.abs(computed - expected)
    same = (computed == expected) | (np.isnan(computed) & np.isnan(expected))
    difference = np.where(same, 0.0, difference)
    return float(np.max(np.where(np.isnan(difference), math.inf, difference)))


def _enter(contestant: Contestant, work: Work, rules: Rules, clock: Clock) -> _Entry | Withdrawn:
    """Prepare a contestant, check its output and find how many calls make a run."""
    try:
        runner = contestant.prepare()
    except UnavailableError as reason:
        return Withdrawn(work.name, contestant.name, str(reason))
    seconds = _timed(runner, clock)
    error = max_abs_err(runner.output(), work.reference)
    if not (math.isfinite(error) and error <= work.tolerance):
        return Withdrawn(
            work.name,
            contestant.name,
            f"wrong output: differs from the reference by {error:.3g}, "
            f"at most {work.tolerance:.3g} is allowed",
            is_defect=contestant.kernels is None,
        )
    return _Entry(contestant, runner, _calls(runner, seconds, rules, clock), error)


_MOST_CALLS = 1 << 20
_SURELY_LONG = 100
"""A first call as long as this many runs is taken for a long call: set-up takes no half second."""


def _calls(runner: Runner, seconds: float, rules: Rules, clock: Clock) -> int:
    """The number of calls in a run, found by doubling.

    The first calls include page faults, lazy set-up and cold caches. An estimate from one of them
    would give a run too few calls.

    Args:
        seconds: the time of the first call.
    """
    if seconds >= _SURELY_LONG * rules.seconds_per_run:
        return 1
    calls, seconds = 1, _seconds(runner, 1, clock)
    while 0 < seconds < rules.seconds_per_run / 2 and calls < _MOST_CALLS:
        calls *= 2
        seconds = _seconds(runner, calls, clock)
    return 1 if seconds <= 0 else max(1, math.ceil(calls * rules.seconds_per_run / seconds))


def _timed(runner: Runner, clock: Clock) -> float:
    """Time one call after restoring its input."""
    if runner.restore is not None:
        runner.restore()
    start = clock()
    runner.run()
    return clock() - start


def _rounds(
    entries: Sequence[_Entry], work: Work, rules: Rules, clock: Clock, report: Progress
) -> list[list[_Run]]:
    """Run all rounds; return the runs of each entry."""
    runs: list[list[_Run]] = [[] for _ in entries]
    share = rules.seconds_budget / max(1, len(entries))
    used = [0.0] * len(entries)
    for round_number in range(rules.rounds):
        for position in running_order(len(entries), round_number):
            entry = entries[position]
            if runs[position] and used[position] >= share:
                continue
            report(f"round {round_number + 1} of {rules.rounds}: {entry.name}")
            rules.wait()
            start = clock()
            runs[position].append(_run(entry, work, clock))
            used[position] += clock() - start
    return runs


def _run(entry: _Entry, work: Work, clock: Clock) -> _Run:
    """One run between two bursts."""
    before = work.peak_burst()
    seconds = _seconds(entry.runner, entry.calls, clock)
    after = work.peak_burst()
    if not (before > 0 and after > 0):
        raise BenchError(
            f"the peak beside {entry.name!r} must be a positive number of {work.unit}s a second, "
            f"the bursts measured {before} and {after}"
        )
    return _Run(work.amount * entry.calls / seconds, max(before, after))


def _seconds(runner: Runner, calls: int, clock: Clock) -> float:
    """The seconds of a number of calls, without restoring their input."""
    if runner.restore is not None:
        return sum(_timed(runner, clock) for _ in range(calls))
    run = runner.run
    start = clock()
    for _ in range(calls):
        run()
    return clock() - start


def _result(work: Work, entry: _Entry, runs: Sequence[_Run], peer: PeerKernels | None) -> Result:
    """The medians over an entry's runs."""
    fractions = [run.rate / run.peak for run in runs]
    return Result(
        kernel=work.name,
        contestant=entry.name,
        fraction_of_peak=statistics.median(fractions),
        rate=statistics.median(run.rate for run in runs) / 1e9,
        peak_rate=statistics.median(run.peak for run in runs) / 1e9,
        runs=len(runs),
        max_abs_err=entry.max_abs_err,
        held_back=None if peer is None else peer.held_back,
        spread=_spread(fractions),
        unit=work.unit,
    )


def _spread(fractions: Sequence[float]) -> float:
    if len(fractions) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(fractions, n=4, method="inclusive")
    return (high - low) / middle


def _silent(_: str) -> None:
    """Show nothing."""
