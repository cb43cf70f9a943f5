"""Vectorize a loop that is legal to vectorize only where its vectors begin at other iterations.

In Floyd and Warshall's algorithm, iteration ``j = k`` writes what all others read. Lanes may run
together if that iteration is the last lane of its vector: if ``j`` is counted from ``k``.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.table import Step

FACTORS = (-1, 1)
"""Skew factors by an outer loop that are tried."""
SHIFTS = (-1, 0, 1)
"""Iterations by which the beginnings of vectors are moved."""


def skewed_lanes(situation: Situation) -> Iterator[Proposal]:
    """Propose to vectorize the innermost loop of a nest, counted from an outer loop's value."""
    nest, schedule = situation.nest, situation.schedule
    if not (nest.is_perfect and nest.is_plain):
        return
    (statement,) = nest.statements
    facts = statement_facts(schedule.program, statement, situation.sizes)
    inner = nest.chain[-1]
    if abs(facts.target.stride(inner.name) or 0) != facts.target.bytes:
        return
    loop = f"{statement}.{inner.name}"
    lanes = min(LARGEST_LANES, situation.machine.vector_bits // facts.element_bits)
    directly = applied(schedule, (Vectorize(loop, lanes),))
    if directly is None or keeps_order(directly.program, nest.statements):
        return
    for outer in nest.chain[:-1]:
        for factor in FACTORS:
            for shift in SHIFTS:
                steps: list[Step] = [Skew(loop, f"{statement}.{outer.name}", factor)]
                if shift:
                    steps.append(Shift(loop, shift))
                yield Proposal(
                    (*steps, Vectorize(loop, lanes)),
                    f"{lanes} lanes along {inner.name}, whose vectors begin at a distance from "
                    f"{outer.name}: other vectors would hold iterations that depend on each other",
                )
