"""Run whole iterations on lanes, with the short loops inside them written out.

A loop of a few iterations inside, such as the taps of a filter or the rows of a small matrix, costs
more for its control than for its arithmetic. Written out, its sums stay in registers from their
start to their use, so nothing is distributed and nothing passes through memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.candidate import Proposal, Situation
from polysched.autoscheduler.legal import applied
from polysched.autoscheduler.nests import Nest, fresh_names
from polysched.autoscheduler.recipes.outer_lanes import from_zero, privatized, vector_lanes
from polysched.ir.core.tree import Loop, LoopKind, Node, Sequence, loops
from polysched.schedule.core.program import Program, largest_extent
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step

LARGEST_BODY = 64
"""Copies of statements in one iteration: more take long to compile, and exceed the registers."""
VECTORS = (2, 1)
"""Vectors side by side: two overlap the chains of operations of a short iteration."""


def written_out(situation: Situation) -> Iterator[Proposal]:
    """Propose each loop around short loops as the vector loop, the innermost first.

    An outer loop is proposed where it is, and moved inside the others of its nest.
    """
    nest, program = situation.nest, situation.schedule.program
    nested = (*nest.around, *loops(nest.chain[0]))
    if nest.is_perfect or any(
        loop.kind is not LoopKind.SEQUENTIAL or loop.prefetches for loop in nested
    ):
        return
    last = nest.chain[-1]
    for loop in reversed(nest.chain):
        for body, is_moved in ((loop.body, False), (last.body, True)):
            copies = _copies(program, body)
            if copies is None or copies > LARGEST_BODY or (is_moved and loop is last):
                continue
            for vectors in VECTORS:
                if copies * vectors <= LARGEST_BODY:
                    yield _proposal(situation, loop, vectors, is_moved=is_moved)


def _copies(program: Program, node: Node) -> int | None:
    """Return how many statements a node becomes when its loops are written out; None if unknown."""
    match node:
        case Sequence(children=children):
            parts = [_copies(program, child) for child in children]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case Loop(body=body):
            extent, inside = largest_extent(program, node), _copies(program, body)
            return None if extent is None or inside is None else extent * inside
    return 1


def _proposal(situation: Situation, loop: Loop, vectors: int, *, is_moved: bool) -> Proposal:
    """Return the proposal for a vector loop, which is moved inside the others of its nest."""
    nest = situation.nest
    lanes = vector_lanes(situation)
    outer, inner = fresh_names(
        situation.schedule.program, nest.chain[0], f"{loop.name}o", f"{loop.name}i"
    )
    inside = nest.reference(inner)
    order = [*(one.name for one in nest.chain if one is not loop), loop.name]
    moved = (Reorder(tuple(map(nest.reference, order))),) if is_moved else ()
    steps: tuple[Step, ...] = (
        *moved,
        *from_zero(situation, loop.name),
        Split(nest.reference(loop.name), lanes * vectors, (outer, inner)),
    )
    split = applied(situation.schedule, steps)
    if split is not None:
        steps = (*steps, *privatized(split, inner, inside, set(loop.statements)))
    steps = (*steps, Vectorize(inside, lanes), *([Unroll(inside)] if vectors > 1 else []))
    short = tuple(dict.fromkeys(_references(nest, nest.chain[-1] if is_moved else loop)))
    side = f"{vectors} vectors" if vectors > 1 else "one vector"
    return Proposal(
        (*steps, *map(Unroll, short)),
        f"{side} of {lanes} lanes run whole iterations of {loop.name}, in which the loops of a few "
        "iterations are written out: sums stay in registers",
    )


def _references(nest: Nest, loop: Loop) -> Iterator[str]:
    """Yield the loops inside a loop, by their first statement."""
    for inner in loops(loop.body):
        yield f"{inner.statements[0]}.{inner.name}"
