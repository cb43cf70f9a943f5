"""Skewed unroll-and-jam: several rows at once, each some columns behind the row above.

In a recurrence along both loops of a nest, each iteration waits for the one before, and the
processor's other units idle. Rows that run together, skewed far enough that no row waits for
another one in the same iteration, are independent chains.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.cost.statement import statement_cost
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.alignment import aligned
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.legality.checks.order import demanded
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.table import Step

ROWS = 8
"""Rows that run together: more than a chain's latency over the time of its operations pays no
further, and their values exceed the registers."""


def wavefront(situation: Situation) -> Iterator[Proposal]:
    """Propose to run several rows of a recurrence together."""
    nest, program = situation.nest, situation.schedule.program
    if len(nest.chain) < 2 or not nest.is_perfect:
        return
    if not all(loop.is_plain for loop in nest.chain):
        return
    statement = nest.statements[0]
    first = statement_cost(statement_facts(program, statement, situation.sizes), situation.machine)
    if first.bound != "chain":
        return
    *around, outer, inner = (*nest.around, *nest.chain)
    alignment = aligned(
        program.statements, demanded(program.dependences), around, (outer,), (inner,)
    )
    if alignment is None:
        return
    (factor,) = alignment.factors
    chunks, rows = fresh_names(program, nest.chain[0], f"{outer.name}o", f"{outer.name}i")
    row, column = f"{statement}.{outer.name}", f"{statement}.{inner.name}"
    jammed: tuple[Step, ...] = (
        Split(row, ROWS, (chunks, rows)),
        Reorder((column, f"{statement}.{rows}")),
        Unroll(f"{statement}.{rows}"),
    )
    # 1 more than permutability requires: a row then waits for an earlier iteration of the row
    # above.
    for skewed in (factor + 1, factor):
        steps = (Skew(column, row, skewed), *jammed) if skewed else jammed
        yield Proposal(
            steps,
            f"{ROWS} iterations of {outer.name} run together, each {skewed} behind the one before "
            f"along {inner.name}: their chains of dependent operations overlap",
        )
