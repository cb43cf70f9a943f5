"""Proof: the best candidate that the checker accepts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.forms.candidate import Candidate, Decision
from polysched.autoscheduler.forms.legal import applied
from polysched.errors import LoweringError
from polysched.ir.expr.expressions import Constant
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict
from polysched.loops.ir.nodes import Assign, For, LoopNode, children
from polysched.lower import limited_loops
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from polysched.vector.pass_list import vector_program

MOST_DROPPED = 3
"""Most refused decisions of a candidate: after that, its other decisions are not tried."""


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
        vector_program(limited_loops(schedule), machine)
    except LoweringError as error:
        return verdict, str(error)
    return verdict, ""


def keeps_full_tiles(before: Schedule, after: Schedule) -> bool:
    """Whether all statements that have full vectors in one schedule have them in another.

    Where separated full tiles cannot be proved within the quota of loop generation, the loops keep
    them together with partial ones, and all vectors have masks.
    """
    try:
        return _with_full_tiles(before) <= _with_full_tiles(after)
    except LoweringError:
        return False


def _with_full_tiles(schedule: Schedule) -> frozenset[str]:
    """Return the statements with a version in which all lanes and copies run."""

    def found(node: LoopNode) -> Iterator[str]:
        if isinstance(node, Assign):
            yield node.statement
        elif not isinstance(node, For) or node.kind.is_loop_in_code or _is_full(node):
            for child in children(node):
                yield from found(child)

    return frozenset(found(limited_loops(schedule).body))


def _is_full(loop: For) -> bool:
    """Whether a vector loop or an unrolled loop runs its whole extent."""
    first, last = loop.bounds
    if first is None or last is None:
        return False
    return (loop.lower, loop.upper) == (Constant(first), Constant(last + 1))


def _mended(
    start: Schedule, candidate: Candidate, machine: Machine, sizes: Mapping[str, int]
) -> Proved | None:
    """Build a candidate again from its decisions, leaving out those that are refused.

    The first refused decision is found by bisection, as a proof takes long.
    """
    verdict = check(start)
    if not verdict.is_legal:
        return None
    schedule, kept, dropped = start, list[Decision](), list[tuple[Decision, str]]()
    remaining = list(candidate.decisions)
    while remaining:
        reasons: dict[int, str] = {}
        proofs = {0: (schedule, verdict)}
        fine, refused = 0, len(remaining) + 1
        while refused - fine > 1:
            # All decisions first: mostly one is refused.
            count = len(remaining) if refused > len(remaining) else (fine + refused) // 2
            changed = applied(
                schedule, [step for decision in remaining[:count] for step in decision.steps]
            )
            reasons[count] = "its steps do not fit without an earlier decision"
            if changed is not None:
                answer, reasons[count] = _judged(changed, machine)
                proofs[count] = (changed, answer)
            if reasons[count]:
                refused = count
            else:
                fine = count
        schedule, verdict = proofs[fine]
        kept += remaining[:fine]
        if fine == len(remaining):
            break
        dropped.append((remaining[fine], reasons[refused]))
        remaining = remaining[fine + 1 :] if len(dropped) < MOST_DROPPED else []
    costs = program_costs(schedule.program, schedule.program.tree.statements, machine, sizes)
    return Proved(Candidate(schedule, tuple(kept), costs), verdict, tuple(dropped))
