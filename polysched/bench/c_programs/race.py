"""Race of a C function: by hand, by the autoscheduler and as written, against C compilers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polysched.autoscheduler.driver import optimize_schedule
from polysched.bench.c_programs.calls import Calls, Expected, prepared_calls, runner_of
from polysched.bench.c_programs.code import (
    CCompiler,
    compiled_by,
    compiled_by_polysched,
    compiler_kernels,
)
from polysched.bench.c_programs.programs import Program
from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.measure.race import Outcome, Rules, Work, race
from polysched.bench.measure.speedup import OWN, Speedup
from polysched.errors import BenchError
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule

PLAIN = "unscheduled"
AUTO = "auto"
THREADED = "auto_on_threads"
"""The autoscheduler's schedule for several threads; its name is also that of a library."""
ONE_THREAD = "auto on one thread"
"""Baselines of the schedule for several threads."""


@dataclass(frozen=True)
class Contest:
    """The contestants of each program's race, and the machine.

    Attributes:
        compilers: the C compilers. The first one is also the reference, with strict floating point.
        peak_burst: measures the machine's peak; flops a second.
        threads: of the autoscheduler. With 1 its schedule runs, with more also the one for so many
            threads; None for neither.
        knows_sizes: whether the autoscheduler gets the sizes of the race.
    """

    compilers: Sequence[CCompiler]
    machine: Machine
    peak_burst: Callable[[], float] = field(repr=False)
    threads: int | None = 1
    knows_sizes: bool = True


@dataclass(frozen=True)
class Raced:
    """The race of one program.

    Attributes:
        seconds: processor time of search, proof and code for each of polysched's contestants.
    """

    program: Program
    outcome: Outcome
    seconds: dict[str, float]

    def speedups(self, *owns: str) -> tuple[Speedup, ...]:
        """Compute the speedups of the first of ``owns`` that raced over the other contestants.

        Contestants that are held back are left out. The schedule for several threads is compared
        with the one for one thread only.
        """
        by_name = {result.contestant: result for result in self.outcome.results}
        own = next((name for name in owns if name in by_name), None)
        if own is None:
            return ()
        pairs = [
            (own, name, name)
            for name, result in by_name.items()
            if name not in {OWN, own, THREADED} and result.held_back is None
        ]
        if {AUTO, THREADED} <= by_name.keys():
            pairs.append((THREADED, AUTO, ONE_THREAD))
        return tuple(
            Speedup(
                self.program.name,
                over,
                by_name[fast].fraction_of_peak / by_name[slow].fraction_of_peak,
                fast,
            )
            for fast, slow, over in pairs
        )


def raced(program: Program, contest: Contest, folder: Path, rules: Rules) -> Raced:
    """Race one program."""
    calls, seconds = prepared_calls(program), dict[str, float]()
    expected = _expected(calls, contest.compilers, folder)
    work = Work(
        str(program),
        program.operations,
        [
            *_own(calls, expected, contest, folder, seconds),
            *(_compiler(calls, expected, compiler, folder) for compiler in contest.compilers),
        ],
        expected.comparable(expected.arrays),
        contest.peak_burst,
        expected.tolerance,
    )
    return Raced(program, race(work, rules), seconds)


def _expected(calls: Calls, compilers: Sequence[CCompiler], folder: Path) -> Expected:
    """Results of the first installed C compiler at -O1; without any, of the unscheduled program."""
    for compiler in compilers:
        plain = CCompiler("reference", compiler.command[:1], ("-O1", "-ffp-contract=off"))
        try:
            return Expected(calls.results(compiled_by(plain, calls.program.source, folder)))
        except BenchError:
            continue
    schedule = Schedule(calls.program.kernel)
    made = compiled_by_polysched(schedule, calls.program.function, folder, "reference")
    return Expected(calls.results(made))


def _own(
    calls: Calls, expected: Expected, contest: Contest, folder: Path, seconds: dict[str, float]
) -> Iterator[Contestant]:
    """polysched's contestants; each stores the processor time of its preparation."""
    program, machine, threads = calls.program, contest.machine, contest.threads

    def contestant(label: str, find: Callable[[], Schedule]) -> Contestant:
        def prepare() -> Runner:
            start = time.process_time()
            made = compiled_by_polysched(find(), program.function, folder, label, machine)
            seconds[label] = time.process_time() - start
            return runner_of(calls, expected, made)

        return Contestant(label, prepare)

    def found(count: int) -> Schedule:
        free, sizes = Schedule(program.free_kernel), program.sizes if contest.knows_sizes else None
        return optimize_schedule(free, machine, threads=count, sizes=sizes).schedule

    by_hand = program.schedule
    if by_hand is not None:
        yield contestant(OWN, lambda: by_hand)
    if threads is not None:
        yield contestant(AUTO, lambda: found(1))
        if threads > 1:
            yield contestant(THREADED, lambda: found(threads))
    yield contestant(PLAIN, lambda: Schedule(program.kernel))


def _compiler(calls: Calls, expected: Expected, compiler: CCompiler, folder: Path) -> Contestant:
    """A C compiler as a contestant; its code goes to ``folder``."""

    def prepare() -> Runner:
        return runner_of(calls, expected, compiled_by(compiler, calls.program.source, folder))

    return Contestant(compiler.name, prepare, lambda *_: compiler_kernels(compiler))
