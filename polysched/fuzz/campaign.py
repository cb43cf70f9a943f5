"""Fuzzing campaign: explore many seeds in several processes; a crash or a hang is a failure."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from polysched.fuzz.automatic import explore_automatic
from polysched.fuzz.exploring import Explored, Found, Judges, explore
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.machine.description import Machine
from polysched.machine.load import load_machine

PATIENCE = 300.0
"""Time limit for one seed, in seconds; then the process is killed and the seed is a failure."""

SEEDS_A_PROCESS = 3000
"""Seeds after which a worker process is replaced, because isl and LLVM retain some memory."""


@dataclass(frozen=True)
class Plan:
    """Limits and settings of a campaign. No seed starts after a limit is reached.

    Attributes:
        seed: the first seed; the others follow one by one.
        jobs: the number of worker processes.
        seconds: wall time of the campaign; None: no limit.
        pairs: the number of schedules to judge; None: no limit.
        most_found: the number of failures.
        patience: time limit for one seed, in seconds.
        mode: the mode of all seeds; None: each seed draws its mode.
        machine: the target of machine code; None: the host.
        automatic: whether the autoscheduler makes the schedules, one for each seed.
    """

    seed: int = 0
    jobs: int = 1
    seconds: float | None = None
    pairs: int | None = None
    most_found: int = 20
    patience: float = PATIENCE
    mode: Mode | None = None
    machine: Machine | None = None
    automatic: bool = False


@dataclass(frozen=True)
class Outcome:
    """Result of a campaign: the judged cases, the wall time, and the number of seeds."""

    explored: Explored
    seconds: float
    seeds: int

    @property
    def pairs(self) -> int:
        """The number of judged pairs of a kernel and a schedule."""
        return self.explored.counts["pairs"]


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    seed: int | None = None
    since: float = 0.0
    explored: int = 0

    def end(self) -> None:
        """Terminate the process."""
        self.connection.close()
        self.process.terminate()
        self.process.join()


def run(
    plan: Plan,
    progress: Callable[[str], None] | None = None,
    *,
    on_finding: Callable[[Found], None] | None = None,
) -> Outcome:
    """Explore seeds until a limit of the plan is reached.

    Args:
        progress: called after each seed with a progress line.
        on_finding: called with each failure when it happens.
    """
    start = time.monotonic()
    explored, seeds = Explored(), 0
    for result in _results(plan, explored, start):
        explored.add(result)
        seeds += 1
        if on_finding is not None:
            for failure in result.found:
                on_finding(failure)
        if progress is not None:
            wrong = f", {len(explored.found)} wrong" if explored.found else ""
            progress(f"{explored.counts['pairs']:,} pairs{wrong}")
    return Outcome(explored, time.monotonic() - start, seeds)


def _results(plan: Plan, explored: Explored, start: float) -> Iterator[Explored]:
    """Yield the result of each seed; start new seeds while ``explored`` is within the plan."""
    seed = plan.seed
    workers = [_started(plan) for _ in range(plan.jobs)]
    try:
        while True:
            for worker in workers:
                if worker.seed is None and not _is_enough(plan, explored, start):
                    worker.seed, worker.since = seed, time.monotonic()
                    worker.connection.send(seed)
                    seed += 1
            busy = [worker for worker in workers if worker.seed is not None]
            if not busy:
                return
            ready = wait([worker.connection for worker in busy], timeout=min(1.0, plan.patience))
            for worker in busy:
                result = _result(worker, worker.connection in ready, plan.patience)
                if result is not None:
                    yield result
                    worker.seed = None
                    worker.explored += 1
                if worker.explored >= SEEDS_A_PROCESS or not worker.process.is_alive():
                    worker.end()
                    workers[workers.index(worker)] = _started(plan)
    finally:
        for worker in workers:
            worker.end()


def _is_enough(plan: Plan, explored: Explored, start: float) -> bool:
    return (
        (plan.seconds is not None and time.monotonic() - start >= plan.seconds)
        or (plan.pairs is not None and explored.counts["pairs"] >= plan.pairs)
        or len(explored.found) >= plan.most_found
    )


def _result(worker: _Worker, is_ready: bool, patience: float) -> Explored | None:
    """Return the result of a worker's seed; None if the worker is still running."""
    assert worker.seed is not None
    if is_ready:
        try:
            result: Explored = worker.connection.recv()
        except EOFError:
            worker.process.join()
            return _ended(worker.seed, Finding.DIED, f"exit code {worker.process.exitcode}")
        return result
    waited = time.monotonic() - worker.since
    if waited < patience:
        return None
    worker.process.kill()
    worker.process.join()
    return _ended(worker.seed, Finding.HUNG, f"in {waited:.0f} s")


def _ended(seed: int, finding: Finding, detail: str) -> Explored:
    explored = Explored()
    explored.fail(seed, None, finding, detail)
    return explored


def _started(plan: Plan) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, plan), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection, plan: Plan) -> None:
    """Explore the seeds from a connection until it is closed."""
    judges = Judges(plan.machine or load_machine())
    while True:
        try:
            seed: int = connection.recv()
        except EOFError:
            return
        if plan.automatic:
            connection.send(explore_automatic(seed, judges))
        else:
            connection.send(explore(seed, judges, only=plan.mode))
