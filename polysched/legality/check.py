"""Legality checker: prove that a scheduled program computes the same as its kernel.

The checker judges the final program. Every instance must run exactly once. Every dependence must be
kept (order, vector and parallel loops, storage, bytes that threads share). Every access must lie
inside its array. The declared kernel must stay inside its arrays and read nothing undefined.
"""

from __future__ import annotations

from dataclasses import replace
from weakref import WeakKeyDictionary

import islpy as isl

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import executed
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.isl.quota import QuotaExceededError, in_proportion, operation_quota
from polysched.legality.checks.bounds import bounds_violation, undefined_violation
from polysched.legality.checks.once import once_violation
from polysched.legality.checks.order import demanded, keeps, order_violation
from polysched.legality.checks.shared_bytes import shared_byte_violation
from polysched.legality.checks.storage import UndecidedError, storage_violation
from polysched.legality.verdicts.explain import explain
from polysched.legality.verdicts.verdict import (
    Checked,
    OffendingStep,
    Verdict,
    VerdictKind,
    Violation,
)
from polysched.legality.verdicts.witness_check import unconfirmed
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule, as_schedule
from polysched.schedule.table import format_step

DEFAULT_QUOTA = 2_000_000
"""isl operations for one check; when they are spent, the verdict is unknown."""

_LEGAL: WeakKeyDictionary[Program, Verdict] = WeakKeyDictionary()
"""Cached verdicts of legal schedules, by the program after all steps.

Programs are immutable and compare by identity, so an entry never goes stale, and no proof depends
on the equality of schedules.
"""


def check(
    schedule: Schedule | Kernel, *, quota: int = DEFAULT_QUOTA, seconds: float = DEFAULT_SECONDS
) -> Verdict:
    """Judge a schedule.

    The verdict of a legal schedule is cached while its program is alive. So compiling a checked
    schedule needs no second proof and cannot exceed a limit.

    Args:
        schedule: the schedule; a kernel is judged as declared.
        quota: isl operations for up to 100 statements, and in proportion for more. When they are
            spent, the verdict is unknown. 0: no limit.
        seconds: processor time of the call, including the search for the offending step. Inside a
            call with a time limit, the time that is left of that limit applies. 0: no limit.

    Raises:
        ScheduleError: ``schedule`` is neither a schedule nor a kernel, or a limit is not a number
            or is negative.
    """
    schedule = as_schedule(schedule)
    with time_budget(seconds):
        return _LEGAL.get(schedule.program) or _judged(schedule, quota)


def _judged(schedule: Schedule, quota: int) -> Verdict:
    try:
        with operation_quota(in_proportion(quota, len(schedule.program.statements))):
            violation = kernel_violation(schedule.programs[0]) or find_violation(schedule.program)
    except (QuotaExceededError, UndecidedError) as error:
        return Verdict(VerdictKind.UNKNOWN, reason=str(error))
    except isl.Error as error:
        return Verdict(VerdictKind.UNKNOWN, reason=f"isl gave up: {error}")
    if violation is None:
        legal = Verdict(VerdictKind.LEGAL, checked=_counts(schedule.program))
        _LEGAL[schedule.program] = legal
        return legal
    judged = schedule.programs[0] if violation.in_kernel else schedule.program
    doubt = unconfirmed(judged, violation)
    if doubt:
        return Verdict(
            VerdictKind.UNKNOWN, reason=_unconfirmed(violation, doubt), doubted=violation
        )
    if not violation.in_kernel:
        violation = replace(violation, offending_step=_offending_step(schedule, quota))
    return Verdict(VerdictKind.ILLEGAL, violation, explain(violation), _counts(schedule.program))


def _unconfirmed(violation: Violation, doubt: str) -> str:
    array = f" of {violation.array}" if violation.array else ""
    return (
        f"the analysis found a violation ({violation.kind.value}{array}: {violation.cause.value}), "
        f"but arithmetic does not confirm its witness: {doubt}. This is an error in polysched; "
        "please report it with the kernel and the schedule"
    )


def kernel_violation(program: Program) -> Violation | None:
    """Find a violation of the declared kernel, given the program before the first step."""
    violation = bounds_violation(program, program.statements.values()) or undefined_violation(
        program
    )
    return None if violation is None else replace(violation, in_kernel=True)


def find_violation(program: Program) -> Violation | None:
    """Find the first violation of a scheduled program: exactly once, order, storage or bounds."""
    tree = executed(program.tree)
    return (
        once_violation(program, tree)
        or order_violation(program, tree)
        or storage_violation(program, tree)
        or shared_byte_violation(program, tree)
        or bounds_violation(program, _changed_statements(program))
    )


def _is_legal(program: Program) -> bool:
    """Whether a program has no violation; faster than :func:`find_violation`: finds no witness."""
    tree = executed(program.tree)
    try:
        return (
            keeps(tree, demanded(program.dependences))
            and once_violation(program, tree) is None
            and storage_violation(program, tree) is None
            and shared_byte_violation(program, tree) is None
            and bounds_violation(program, _changed_statements(program)) is None
        )
    except UndecidedError:
        return False


def _changed_statements(program: Program) -> list[Statement]:
    """Return the statements that are not as declared."""
    declared = program.kernel.statements
    return [
        statement
        for statement in program.statements.values()
        if statement is not declared.get(statement.name)
    ]


def _offending_step(schedule: Schedule, quota: int) -> OffendingStep | None:
    """Return the step after the longest legal prefix; None if the search exceeds its quota."""
    try:
        with operation_quota(in_proportion(quota, len(schedule.program.statements))):
            for index in reversed(range(len(schedule.steps))):
                if _is_legal(schedule.programs[index]):
                    step = schedule.steps[index]
                    return OffendingStep(index, format_step(step), schedule.locations[index])
    except (QuotaExceededError, isl.Error):
        return None
    return None


def _counts(program: Program) -> Checked:
    return Checked(
        statements=len(program.statements),
        dependences=len(program.dependences),
        accesses=sum(len(statement.accesses) for statement in program.statements.values()),
        buffers=sum(array.tile > 0 for array in program.arrays.values()),
    )
