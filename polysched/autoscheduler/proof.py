"""Proof: the best candidate that the checker accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polysched.autoscheduler.candidate import Candidate, Decision
from polysched.autoscheduler.cost import program_costs
from polysched.autoscheduler.legal import applied
from polysched.errors import LoweringError
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.loops.analysis.size_limits import with_limited_sizes
from polysched.lower import lower
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.vector.pass_list import vector_program


@dataclass(frozen=True, eq=False)
class Proved:
    """A proved candidate, and the decisions that were dropped because they could not be proved."""

    candidate: Candidate
    verdict: Verdict
    dropped: tuple[tuple[Decision, str], ...]


def proved(
    start: Schedule,
    candidates: Iterable[Candidate],
    machine: Machine,
    sizes: Mapping[str, int],
    most_cycles: float,
) -> Proved | None:
    """Return the first candidate that is proved; None if not even the start is.

    A candidate without machine code counts as refused: a transposition may find no tiles. A refused
    candidate loses the decisions that are refused, one by one. It is dropped if it is then
    predicted to take ``most_cycles`` or more.
    """
    for candidate in candidates:
        verdict, refusal = _judged(candidate.schedule, machine)
        if not refusal:
            return Proved(candidate, verdict, ())
        mended = _mended(start, candidate, machine, sizes)
        if mended is None or not mended.candidate.decisions:
            continue
        if mended.candidate.cycles < most_cycles:
            return mended
    return None


def _judged(schedule: Schedule, machine: Machine) -> tuple[Verdict, str]:
    """Return the verdict on a schedule, and why it cannot be used; "" if it can."""
    verdict = check(schedule)
    if not verdict.is_legal:
        return verdict, verdict.reason or "illegal"
    try:
        vector_program(with_limited_sizes(lower(schedule)), machine)
    except LoweringError as error:
        return verdict, str(error)
    return verdict, ""


def _mended(
    start: Schedule, candidate: Candidate, machine: Machine, sizes: Mapping[str, int]
) -> Proved | None:
    """Build a candidate again from its decisions, leaving out those that are refused."""
    schedule, kept, dropped = start, list[Decision](), list[tuple[Decision, str]]()
    verdict = check(start)
    if not verdict.is_legal:
        return None
    for decision in candidate.decisions:
        changed = applied(schedule, decision.steps)
        if changed is None:
            dropped.append((decision, "its steps do not fit without an earlier decision"))
            continue
        answer, refusal = _judged(changed, machine)
        if refusal:
            dropped.append((decision, refusal))
        else:
            schedule, verdict = changed, answer
            kept.append(decision)
    costs = program_costs(schedule.program, schedule.program.tree.statements, machine, sizes)
    return Proved(Candidate(schedule, tuple(kept), costs), verdict, tuple(dropped))
