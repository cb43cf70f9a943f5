"""Write out some iterations of a loop that carries a recurrence, without lanes.

Between two iterations of a loop the carried value passes through memory. Between iterations that
are written out it stays in a register, and only the arithmetic of the recurrence is waited for.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.ir.expr.dtypes import boolean
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.table import Step

ITERATIONS = (16, 8, 4)
"""Iterations that are written out: the passage through memory is then a small part of the time."""
MOST_COPIES = 16
"""Copies of statements up to which iterations are written out.

Measured on Zen 4: affine gaps, four statements, take 0.9 times as long with 2, 4 or 8 iterations.
"""


def recurrence(situation: Situation) -> Iterator[Proposal]:
    """Propose to write out iterations of the innermost loop of a nest without inner loops."""
    nest, program = situation.nest, situation.schedule.program
    inner = nest.chain[-1]
    if not (nest.has_leaves and nest.is_plain):
        return
    facts = [statement_facts(program, name, situation.sizes) for name in nest.statements]
    if not any(_is_carried(each, inner.name, len(facts) > 1) for each in facts):
        return
    # LLVM joins the selections of neighboring copies to longer chains: the position of the largest
    # element of 200 x 300 takes 1.1 times as long.
    if any(program.arrays[each.target.array].dtype == boolean for each in facts):
        return
    loop = facts[0].loop(inner.name)
    names = fresh_names(program, nest.chain[0], f"{inner.name}o", f"{inner.name}i")
    for iterations in ITERATIONS:
        if loop.trip < 2 * iterations or iterations * len(facts) > MOST_COPIES:
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


def _is_carried(facts: StatementFacts, loop: str, is_used: bool) -> bool:
    """Whether an iteration of a loop waits for one before it.

    A sum that other statements do not use has partial sums, which do not wait.
    """
    is_running = facts.reads_target and facts.target.stride(loop) == 0
    return facts.is_recurrence(loop) or (is_used and is_running)
