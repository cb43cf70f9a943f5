"""Repair by shifting: in a fused loop the later statements wait for what they need.

The amounts solve a system of difference constraints, ``shift[sink] >= shift[source] + lag``, by
longest paths (Bellman and Ford); the lags are the greatest distances by which a dependence runs
backwards in the loop. So they are the smallest amounts that are not negative.
"""

from __future__ import annotations

from polysched.dependence.distance import distance
from polysched.ir.tree import Loop, LoopKind, statements
from polysched.legality.repair import Case, StepEdit, insert_after
from polysched.legality.repair_skew import common_loops
from polysched.legality.verdict import ViolationKind
from polysched.legality.within import dependences_within, loop_reference
from polysched.schedule.program import Program
from polysched.schedule.shift import Shift


def shifts(case: Case) -> list[StepEdit]:
    """Shifts after the guilty step, in one of the loops around both ends of the witness."""
    if case.violation.what is not ViolationKind.ORDER or len(case.ends) < 2:
        return []
    found = []
    for loop in common_loops(case.after, case.ends):
        if loop.kind is LoopKind.SEQUENTIAL:
            amounts = smallest_shifts(case.after, loop) or {}
            reference = loop_reference(case.after, loop)
            steps = tuple(
                Shift(reference, amount, name) for name, amount in amounts.items() if amount
            )
            if steps:
                found.append(insert_after(case.schedule, case.index, steps))
    return found


def smallest_shifts(program: Program, loop: Loop) -> dict[str, int] | None:
    """How far each statement below a loop has to be shifted for every sink to wait for its source.

    None where no shift by constants suffices.
    """
    order = statements(loop)
    lags: dict[tuple[str, str], int] = {}
    for within in dependences_within(program, loop):
        source, sink = within.source, within.sink
        if within.dependence.reorderable:
            continue
        lowest, _ = distance(within.pairs, loop.values[source], loop.values[sink])
        if lowest is None:
            return None
        # In one iteration the source has to stand first; if it does not, the sink runs in the next.
        lag = -lowest + (order.index(sink) < order.index(source))
        lags[source, sink] = max(lag, lags.get((source, sink), lag))
    amounts = dict.fromkeys(order, 0)
    for _ in range(len(order)):
        for (source, sink), lag in lags.items():
            amounts[sink] = max(amounts[sink], amounts[source] + lag)
    if any(amounts[sink] < amounts[source] + lag for (source, sink), lag in lags.items()):
        return None
    return amounts
