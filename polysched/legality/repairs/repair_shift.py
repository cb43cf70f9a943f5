"""Repair by shifting: delay statements of a fused loop until their sources have run.

The amounts are the smallest nonnegative solution of a system of difference constraints,
``shift[sink] >= shift[source] + lag``, computed as longest paths (Bellman-Ford). A lag is the
greatest distance, in iterations, by which a dependence runs backward in the loop.
"""

from __future__ import annotations

from polysched.dependence.distance import distance
from polysched.ir.core.tree import Loop, LoopKind, statements
from polysched.legality.checks.carried import dependences_within, loop_reference
from polysched.legality.repairs.repair import Case, StepEdit, insert_after
from polysched.legality.repairs.repair_skew import common_loops
from polysched.legality.verdicts.verdict import ViolationKind
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.shift import Shift


def shifts(case: Case) -> list[StepEdit]:
    """Propose shifts after the offending step, in a loop around both ends of the witness."""
    if case.violation.kind is not ViolationKind.ORDER or len(case.ends) < 2:
        return []
    edits = []
    for loop in common_loops(case.after, case.ends):
        if loop.kind is LoopKind.SEQUENTIAL:
            amounts = smallest_shifts(case.after, loop) or {}
            reference = loop_reference(case.after, loop)
            steps = tuple(
                Shift(reference, amount, name) for name, amount in amounts.items() if amount
            )
            if steps:
                edits.append(insert_after(case.schedule, case.index, steps))
    return edits


def smallest_shifts(program: Program, loop: Loop) -> dict[str, int] | None:
    """Compute the shift of each statement below a loop, in iterations, that keeps every dependence.

    The result is None if no constant shifts suffice.
    """
    order = statements(loop)
    lags: dict[tuple[str, str], int] = {}
    for carried in dependences_within(program, loop):
        source, sink = carried.source, carried.sink
        if carried.dependence.reorderable:
            continue
        lowest, _ = distance(carried.pairs, loop.values[source], loop.values[sink])
        if lowest is None:
            return None
        # If the sink precedes the source in the body, it must run at least one iteration later.
        lag = -lowest + (order.index(sink) < order.index(source))
        lags[source, sink] = max(lag, lags.get((source, sink), lag))
    amounts = dict.fromkeys(order, 0)
    for _ in range(len(order)):
        for (source, sink), lag in lags.items():
            amounts[sink] = max(amounts[sink], amounts[source] + lag)
    if any(amounts[sink] < amounts[source] + lag for (source, sink), lag in lags.items()):
        return None
    return amounts
