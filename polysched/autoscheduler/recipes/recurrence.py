"""Write out some iterations of a loop that carries a recurrence, without lanes.

Between two iterations of a loop the carried value passes through memory. Between iterations that
are written out it stays in a register, and only the arithmetic of the recurrence is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.candidate import Proposal, Situation
from polysched.autoscheduler.facts import statement_facts
from polysched.autoscheduler.nests import fresh_names
from polysched.ir.core.tree import LoopKind
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.table import Step

ITERATIONS = (16, 8, 4)
"""Iterations that are written out: the passage through memory is then a small part of the time."""


def recurrence(situation: Situation) -> Iterator[Proposal]:
    """Propose to write out iterations of the innermost loop of a perfect nest."""
    nest, program = situation.nest, situation.schedule.program
    inner = nest.chain[-1]
    if not nest.is_perfect or any(
        loop.kind is not LoopKind.SEQUENTIAL or loop.prefetches
        for loop in (*nest.around, *nest.chain)
    ):
        return
    facts = statement_facts(program, nest.statements[0], situation.sizes)
    if not facts.is_recurrence(inner.name):
        return
    loop = facts.loop(inner.name)
    names = fresh_names(program, nest.chain[0], f"{inner.name}o", f"{inner.name}i")
    for iterations in ITERATIONS:
        if loop.trip < 2 * iterations:
            continue
        reference = nest.reference(inner.name)
        steps: list[Step] = [Shift(reference, -loop.start)] if loop.start else []
        steps += [
            Split(reference, iterations, (names[0], names[1])),
            Unroll(nest.reference(names[1])),
        ]
        yield Proposal(
            tuple(steps),
            f"{iterations} iterations of {inner.name} are written out: the value that one hands to "
            "the next stays in a register",
        )
