"""Distribute an imperfect nest inside blocks of a few vectors, whose temporaries are registers.

A filter or a product with a sum in a scalar runs three statements for each result: the start of
the sum, a loop over its terms, and its use. One vector of results at a time waits for each addition
of its only sum; distributed over all results, the sums pass through memory. In blocks, several
vectors of sums run side by side through one loop over the terms::

    for i in 0..n:                   for io in 0..n / 32:
      s = 0                            vectors: s[0..32] = 0
      for t in 0..m: s += f(i, t)  ->  for t in 0..m: vectors: s[0..32] += f(32*io + 0..32, t)
      y[i] = s                         vectors: y[32*io + 0..32] = s[0..32]
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.forms.private_arrays import privatized
from polysched.autoscheduler.recipes.outer_lanes import from_zero, lanes_are_legal, vector_lanes
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step

VECTORS = (8, 4)
"""Vectors of a block. Two FMA units with a latency of 4 cycles overlap 8 sums; two sums of each
result need half as many vectors, or they exceed 16 registers."""


def register_blocks(situation: Situation) -> Iterator[Proposal]:
    """Propose blocks of the loop around a sequence of single statements and their own loops."""
    nest, schedule = situation.nest, situation.schedule
    loop, body = nest.chain[-1], nest.body
    if not nest.is_plain:
        return
    if not isinstance(body, Sequence) or not any(isinstance(c, Loop) for c in body.children):
        return
    parts = [_part(child) for child in body.children]
    inside = [part for part in parts if part is not None]
    if len(inside) < len(parts):
        return
    first, below = nest.statements[0], set(loop.statements)
    trip = statement_facts(schedule.program, first, situation.sizes).loop(loop.name).trip
    lanes = vector_lanes(situation)
    outer, inner = fresh_names(schedule.program, nest.chain[0], f"{loop.name}o", f"{loop.name}i")
    reference = nest.reference(inner)
    for vectors in VECTORS:
        if trip < lanes * vectors:
            continue
        split = Split(nest.reference(loop.name), lanes * vectors, (outer, inner))
        steps: tuple[Step, ...] = (*from_zero(situation, loop.name), split)
        after = applied(schedule, steps)
        if after is None or not lanes_are_legal(after, reference, lanes, below):
            return
        private = privatized(after, reference, below, "lanes", own=f"each_{inner}")
        steps = (*steps, *private, Distribute(reference))
        for statement, around in inside:
            own = f"{statement}.{inner}"
            order = (*(f"{statement}.{name}" for name in around), own)
            steps = (*steps, *([Reorder(order)] if around else []))
            steps = (*steps, Vectorize(own, lanes), Unroll(own))
        yield Proposal(
            steps,
            f"blocks of {vectors} vectors of {lanes} lanes along {loop.name}, which the statements "
            "run one after the other: sums stay in registers",
        )


def _part(node: Node) -> tuple[str, tuple[str, ...]] | None:
    """The statement of a perfect nest and the names of its loops; None for other nodes."""
    around: list[str] = []
    while isinstance(node, Loop):
        around.append(node.name)
        node = node.body
    return (node.statement, tuple(around)) if isinstance(node, Leaf) else None
