"""Proof: the best candidate that the checker accepts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polysched.autoscheduler.candidate import Candidate, Decision
from polysched.autoscheduler.cost import program_costs
from polysched.autoscheduler.legal import applied
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule


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
) -> Proved | None:
    """Return the first candidate that is proved; None if not even the start is.

    A candidate that is refused loses the decisions that the checker refuses, one by one.
    """
    for candidate in candidates:
        verdict = check(candidate.schedule)
        if verdict.is_legal:
            return Proved(candidate, verdict, ())
        mended = _mended(start, candidate, machine, sizes)
        if mended is not None and mended.candidate.decisions:
            return mended
    return None


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
        answer = check(changed)
        if answer.is_legal:
            schedule, verdict = changed, answer
            kept.append(decision)
        else:
            dropped.append((decision, answer.reason))
    costs = program_costs(schedule.program, schedule.program.tree.statements, machine, sizes)
    return Proved(Candidate(schedule, tuple(kept), costs), verdict, tuple(dropped))
