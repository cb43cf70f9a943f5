"""Explore one seed: generate a random kernel, grow random schedules step by step, judge each."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polysched.errors import KernelError, PolyschedError, ScheduleError
from polysched.fuzz.generate.choosing import FEW_LANES, MANY_LANES, Choosing
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.limits import Limits, machine_limits, order_limits, plain_limits
from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.fuzz.generate.recipes import random_recipe
from polysched.fuzz.generate.sketch import KernelSketch, declare
from polysched.fuzz.generate.steps import only_reorders, random_step
from polysched.fuzz.judge.judgment import Finding, Judgment, Mode
from polysched.fuzz.judge.machine import NOT_TO_BE_HAD, TOO_MUCH_CODE, judge_machine
from polysched.fuzz.judge.order import judge_order
from polysched.fuzz.judge.run import judge_run
from polysched.fuzz.judge.subject import Subject
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ATTEMPTS = 14
"""Random steps to try for one kernel; each step that applies makes a schedule to judge."""

_LIMITS: Mapping[Mode, Callable[[Integers], Limits]] = MappingProxyType(
    {Mode.ORDER: order_limits, Mode.RUN: plain_limits, Mode.MACHINE: machine_limits}
)

Checker: TypeAlias = Callable[[Schedule], Verdict]


@dataclass(frozen=True)
class Case:
    """Reproducible test case: a kernel, the steps of a schedule, and the mode of judging."""

    sketch: KernelSketch
    steps: tuple[Step, ...]
    mode: Mode


@dataclass(frozen=True)
class Found:
    """Failure that the fuzzer found; the case is None if only the seed is known."""

    seed: int
    case: Case | None
    finding: Finding
    detail: str


@dataclass
class Explored:
    """Result of one or more seeds: counts and failures."""

    counts: Counter[str] = field(default_factory=Counter)
    found: list[Found] = field(default_factory=list)

    def add(self, other: Explored) -> None:
        """Add the counts and failures of another result."""
        self.counts += other.counts
        self.found += other.found

    def fail(self, seed: int, case: Case | None, finding: Finding, detail: str) -> None:
        """Add a failure."""
        self.counts[finding.value] += 1
        self.found.append(Found(seed, case, finding, detail))

    def judged(self, seed: int, case: Case, judgment: Judgment) -> None:
        """Count the pair, its verdict and its remark; add its failure, if there is one."""
        verdict = "none" if judgment.verdict is None else judgment.verdict.value
        self.counts["pairs"] += 1
        self.counts[f"{judgment.mode.value}: {verdict}"] += 1
        if judgment.remark:
            self.counts[f"{judgment.mode.value}: {judgment.remark}"] += 1
        if judgment.finding is not None:
            self.fail(seed, case, judgment.finding, judgment.detail)


@dataclass(frozen=True)
class Judges:
    """The checker under test, and the target machine of machine code."""

    machine: Machine
    checker: Checker = check


def explore(
    seed: int,
    judges: Judges,
    announce: Callable[[Case], None] | None = None,
    *,
    only: Mode | None = None,
) -> Explored:
    """Judge some schedules of the seed's kernel.

    Of ten seeds, six use only steps that reorder; enumeration judges them, and sometimes an
    interpreted run. Three use all steps and interpret the loops. One runs machine code.

    Args:
        announce: called with each case before it is judged.
        only: the mode of all seeds; None: as above.
    """
    integers = random.Random(seed).randint
    drawn = choose(integers, [Mode.ORDER] * 6 + [Mode.RUN] * 3 + [Mode.MACHINE])
    mode = drawn if only is None else only
    return explore_in(mode, integers, judges, seed=seed, announce=announce)


def explore_in(
    mode: Mode,
    integers: Integers,
    judges: Judges,
    *,
    attempts: int = ATTEMPTS,
    seed: int = 0,
    announce: Callable[[Case], None] | None = None,
) -> Explored:
    """Judge some schedules of a random kernel in one mode."""
    explored = Explored()
    sketch = random_sketch(integers, _LIMITS[mode](integers))
    explored.counts["kernels"] += 1
    try:
        start = Schedule(declare(sketch))
    except KernelError:
        explored.counts["kernels refused"] += 1
        return explored
    except (isl.Error, *CRASHES) as error:
        explored.fail(seed, Case(sketch, (), mode), Finding.CRASH, shown(error))
        return explored
    subject = Subject(start.kernel)
    schedules = [start]
    for _ in range(attempts):
        base = schedules[-1] if chance(integers, 2, 3) else choose(integers, schedules)
        steps = _steps(integers, base, mode)
        judged_by = Mode.RUN if mode is Mode.ORDER and chance(integers, 1, 15) else mode
        schedule = base
        for step in steps:
            case = Case(sketch, (*schedule.steps, step), judged_by)
            if announce is not None:
                announce(case)
            schedule = _applied(schedule, step, case, seed, explored) or schedule
        if schedule is base:
            continue
        run_refused = chance(integers, 1, 4)
        judgment = judged(subject, schedule, judged_by, judges, run_refused=run_refused)
        explored.judged(seed, Case(sketch, schedule.steps, judged_by), judgment)
        if judgment.remark not in (NOT_TO_BE_HAD, TOO_MUCH_CODE):
            schedules.append(schedule)
    return explored


def _steps(integers: Integers, base: Schedule, mode: Mode) -> tuple[Step, ...]:
    """Generate the next step; for machine code, sometimes a recipe of several steps."""
    lanes = MANY_LANES if mode is Mode.MACHINE else FEW_LANES
    if mode is Mode.MACHINE and chance(integers, 1, 4):
        return random_recipe(Choosing(integers, base.program, len(base.steps), lanes))
    return (random_step(integers, base, buffers=mode is not Mode.ORDER, lanes=lanes),)


def _applied(
    base: Schedule, step: Step, case: Case, seed: int, explored: Explored
) -> Schedule | None:
    name = type(step).__name__
    try:
        schedule = base.then(step)
    except (isl.Error, PolyschedError, *CRASHES) as error:
        if is_meant(error):
            explored.counts[f"does not fit: {name}"] += 1
        else:
            explored.fail(seed, case, Finding.CRASH, shown(error))
        return None
    explored.counts[f"fits: {name}"] += 1
    return schedule


def is_meant(error: Exception) -> bool:
    """Whether an error is the documented refusal of a step that does not apply.

    A step wraps an isl error in its own error. Such an error is expected only if the quota was
    exceeded or if it is one of :data:`ISL_FAILURES`.
    """
    if not isinstance(error, ScheduleError):
        return False
    inner = error.__context__
    return not isinstance(inner, isl.Error) or any(text in str(inner) for text in ISL_FAILURES)


ISL_FAILURES = (
    "original tableau does not correspond to original basic map",
    "affine expression involves some of the domain dimensions",
)
"""isl bugs that polysched cannot avoid: coalescing some unions, and least points of some sets with
several divisions.
"""


def shown(error: Exception) -> str:
    """Format an error."""
    return f"{type(error).__name__}: {error}"


CRASHES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
)
"""Errors that are bugs of polysched."""


def judged(
    subject: Subject, schedule: Schedule, mode: Mode, judges: Judges, *, run_refused: bool = True
) -> Judgment:
    """Check a schedule and judge the verdict in the given mode.

    Args:
        run_refused: whether to run refused schedules too, to find verdicts that are too strict.
    """
    try:
        verdict = judges.checker(schedule)
        if verdict.is_legal or run_refused or mode is Mode.ORDER:
            return _judged(subject, schedule, verdict, mode, judges)
        return Judgment(mode, verdict.kind)
    except (isl.Error, PolyschedError, *CRASHES) as error:
        return Judgment(mode, None, Finding.CRASH, shown(error))


def _judged(
    subject: Subject, schedule: Schedule, verdict: Verdict, mode: Mode, judges: Judges
) -> Judgment:
    if verdict.doubted is not None:
        return Judgment(mode, verdict.kind, Finding.WRONG_WITNESS, verdict.reason)
    if verdict.kind is VerdictKind.UNKNOWN:
        return Judgment(mode, verdict.kind, remark=f"unknown: {verdict.reason}")
    violation = verdict.violation
    if violation is not None and violation.in_kernel:
        return judge_order(subject, Schedule(schedule.kernel), verdict)
    if mode is Mode.ORDER and only_reorders(schedule):
        return judge_order(subject, schedule, verdict)
    if mode is not Mode.MACHINE:
        return judge_run(subject, schedule, verdict)
    if verdict.is_legal:
        return judge_machine(subject, schedule, verdict, judges.machine)
    return Judgment(mode, verdict.kind)


def judge_again(case: Case, judges: Judges) -> Judgment | None:
    """Judge a case from the beginning; None if its kernel is invalid or a step does not apply."""
    try:
        schedule = Schedule(declare(case.sketch))
    except KernelError:
        return None
    except (isl.Error, *CRASHES) as error:
        return Judgment(case.mode, None, Finding.CRASH, shown(error))
    subject = Subject(schedule.kernel)
    for step in case.steps:
        try:
            schedule = schedule.then(step)
        except (isl.Error, PolyschedError, *CRASHES) as error:
            if is_meant(error):
                return None
            return Judgment(case.mode, None, Finding.CRASH, shown(error))
    return judged(subject, schedule, case.mode, judges)
