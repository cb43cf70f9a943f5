"""Vectorize a sum along its own loop: each lane adds a part, and the parts are added at the end."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.candidate import Proposal, Situation
from polysched.autoscheduler.facts import StatementFacts, statement_facts
from polysched.autoscheduler.legal import applied
from polysched.autoscheduler.nests import fresh_names
from polysched.ir.core.kernel import Order
from polysched.ir.core.tree import LoopKind, path
from polysched.schedule.core.program import largest_extent
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

ROWS = (8, 4, 1)
"""Sums that advance together: they share what they read, and their chains overlap."""
CHAINS = 4
"""Vectors of parts for one sum alone, so that its chain of additions does not wait."""
LARGEST_UNROLLED_COPY = 64
"""Trip count up to which the loops that start and combine the parts are written out."""


def partial_sums(situation: Situation) -> Iterator[Proposal]:
    """Propose lanes along the innermost loop of a free reduction, the most rows first."""
    nest, program = situation.nest, situation.schedule.program
    if not nest.is_perfect or any(
        loop.kind is not LoopKind.SEQUENTIAL or loop.prefetches
        for loop in (*nest.around, *nest.chain)
    ):
        return
    statement = program.statements[nest.statements[0]]
    if statement.reduction is None or statement.reduction.order is not Order.ANY:
        return
    facts = statement_facts(program, statement.name, situation.sizes)
    lanes = min(LARGEST_LANES, situation.machine.vector_bits // facts.element_bits)
    for loop in reversed(nest.chain):
        if facts.target.stride(loop.name) == 0 and _is_contiguous(facts, loop.name):
            for rows in ROWS:
                proposal = _proposal(situation, facts, loop.name, lanes, rows)
                if proposal is not None:
                    yield proposal


def _is_contiguous(facts: StatementFacts, loop: str) -> bool:
    strides = [abs(a.stride(loop) or 0) - a.bytes for a in facts.accesses[1:]]
    return any(stride == 0 for stride in strides)


def _proposal(
    situation: Situation, facts: StatementFacts, along: str, lanes: int, rows: int
) -> Proposal | None:
    nest, schedule = situation.nest, situation.schedule
    name = nest.statements[0]
    chain = [loop.name for loop in nest.chain]
    others = [loop for loop in chain if loop != along and facts.target.stride(loop) != 0]
    row = others[-1] if others else None
    if rows > 1 and row is None:
        return None
    vectors = 1 if rows > 1 else CHAINS
    wanted = [f"{along}o", "lane", *([f"{row}o", f"{row}i"] if rows > 1 else [])]
    outer, lane, *row_names = fresh_names(schedule.program, nest.chain[0], *wanted)
    steps: list[Step] = [Split(f"{name}.{along}", lanes * vectors, (outer, lane))]
    order = [loop for loop in chain if loop != along]
    inside: list[str] = [outer]
    if row_names:
        steps.append(Split(f"{name}.{row}", rows, (row_names[0], row_names[1])))
        order[order.index(row or "")] = row_names[0]
        inside.append(row_names[1])
    steps.append(Reorder(tuple(f"{name}.{loop}" for loop in (*order, lane, *inside))))
    array = schedule.program.arrays[facts.target.array]
    stored = array.dimensions[array.tile :]
    steps.append(Rfactor(name, lane, None, (*stored, f"each_{lane}")))
    steps.append(Vectorize(f"{name}_init.{lane}", lanes))
    after = applied(schedule, steps)
    if after is None:
        return None
    unrolled = [f"{name}.{loop}" for loop in inside[1:]]
    if vectors > 1:
        unrolled.append(f"{name}.{lane}")
    steps += map(Unroll, unrolled)
    steps += _short_loops(after, (f"{name}_init", f"{name}_combine"), len(nest.around), unrolled)
    together = f"{rows} sums at a time" if rows > 1 else f"{vectors} vectors of parts"
    return Proposal(
        tuple(steps),
        f"the sum along {along} is added up in {lanes} lanes, {together}, since its order is free",
    )


def _short_loops(
    schedule: Schedule, statements: tuple[str, ...], depth: int, done: list[str]
) -> Iterator[Step]:
    """Yield steps that unroll the loops of the copies that are short and not shared."""
    program = schedule.program
    for statement in statements:
        copies = 1
        for loop in path(program.tree, statement)[depth:]:
            if loop.kind is not LoopKind.SEQUENTIAL or len(loop.statements) > 1:
                continue
            extent = largest_extent(program, loop)
            if extent is not None and copies * extent <= LARGEST_UNROLLED_COPY:
                copies *= extent
                if f"{statement}.{loop.name}" not in done:
                    yield Unroll(f"{statement}.{loop.name}")
