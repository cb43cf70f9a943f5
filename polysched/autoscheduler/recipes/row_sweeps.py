"""Run a recurrence over whole rows: the values that it carries are rows of memory.

A filter along columns reads memory in sequence if it advances all columns by one row at a time. The
lanes then lie along the row.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.recipes.outer_lanes import vector_lanes
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.vectorize import Vectorize


def row_sweeps(situation: Situation) -> Iterator[Proposal]:
    """Propose to move a loop around a recurrence of several statements inside it, and vectorize."""
    nest, program = situation.nest, situation.schedule.program
    if nest.is_perfect or not (nest.has_leaves and nest.is_plain):
        return
    facts = [statement_facts(program, name, situation.sizes) for name in nest.statements]
    lanes = vector_lanes(situation)
    for loop in nest.chain[:-1]:
        if not all(_is_row(statement_facts_, loop.name) for statement_facts_ in facts):
            continue
        rest = [outer.name for outer in nest.chain if outer is not loop]
        order = tuple(nest.reference(name) for name in (*rest, loop.name))
        yield Proposal(
            (Reorder(order), Vectorize(nest.reference(loop.name), lanes)),
            f"{lanes} lanes along {loop.name}, which becomes the innermost loop: a step of the "
            f"recurrence along {rest[-1]} takes whole rows, in sequence",
        )


def _is_row(facts: StatementFacts, loop: str) -> bool:
    """Whether a statement writes elements side by side along a loop, and reads no others."""
    if facts.target.stride(loop) != facts.target.bytes:
        return False
    return all(access.stride(loop) in (0, access.bytes) for access in facts.accesses)
