"""Run whole iterations on lanes, with the short loops inside them written out.

A loop of a few iterations inside, such as the taps of a filter or the rows of a small matrix, costs
more for its control than for its arithmetic. Written out, its sums stay in registers from their
start to their use, so nothing is distributed and nothing passes through memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.forms.nests import fresh_names, nest_at
from polysched.autoscheduler.forms.private_arrays import privatized
from polysched.autoscheduler.recipes.outer_lanes import from_zero, vector_lanes
from polysched.ir.core.tree import Loop, Node, Sequence, loops
from polysched.schedule.core.program import Program, largest_extent
from polysched.schedule.primitives.collapse import Collapse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step

LARGEST_BODY = 64
"""Most copies of statements in an iteration: more compile slowly, and exceed the registers."""
MOST_VECTORS = 4
"""Vectors side by side of which a whole number of rows consists; rows of 3 take 3 vectors."""
NARROWEST_BITS = 128
"""Bits of the smallest vector register: a loop of fewer iterations leaves lanes of it empty."""
VECTORS = (2, 1)
"""Vectors side by side: two overlap the chains of operations of a short iteration."""


def written_out(situation: Situation) -> Iterator[Proposal]:
    """Propose each loop around short loops as the vector loop, the innermost first.

    An outer loop is proposed where it is, and moved inside the others of its nest. Two loops that
    run through rows shorter than a vector are collapsed first.
    """
    nest, program = situation.nest, situation.schedule.program
    if not nest.is_plain:
        return
    yield from _collapsed(situation)
    if nest.is_perfect:
        return
    last = nest.chain[-1]
    for loop in reversed(nest.chain):
        for body, is_moved in ((loop.body, False), (last.body, True)):
            copies = copies_of(program, body)
            if copies is None or copies > LARGEST_BODY or (is_moved and loop is last):
                continue
            for vectors in VECTORS:
                if copies * vectors <= LARGEST_BODY:
                    yield _proposal(situation, loop, vectors, is_moved=is_moved)


def _collapsed(situation: Situation) -> Iterator[Proposal]:
    """Propose lanes along two loops that run through short rows, one after the other in memory.

    Several rows fill a vector. The lanes that an operand does not depend on repeat its elements,
    which the code shuffles in registers::

        for v in 0..n:                       for c in 0..4*n / 16:
          for i in 0..4: q[v, i] = ...  ->     vector 16: q[4*c + lane / 4, lane % 4] = ...
    """
    nest, schedule = situation.nest, situation.schedule
    lanes = vector_lanes(situation)
    for outer, inner in pairwise(nest.chain):
        width = largest_extent(schedule.program, inner)
        if width is None or not 1 < width < lanes or not _are_rows(situation, outer, inner, width):
            continue
        if 2 * width == lanes and situation.machine.vector_bits > 2 * NARROWEST_BITS:
            # A row fills a register of half the width, which needs no shuffles. Measured on Zen 4:
            # 4000 products of 8 by 8 matrices take 83 us with shared vectors of 512 bits, 44 us
            # with half ones. Halves of 256 bits are shuffled by one instruction of one cycle:
            # 5000 products of 4 by 4 matrices take 9 us with shared vectors, 16 us with half ones.
            continue
        names = fresh_names(schedule.program, nest.chain[0], f"{outer.name}{inner.name}")
        step = Collapse(nest.reference(outer.name), nest.reference(inner.name), names[0])
        after = applied(schedule, (*from_zero(situation, inner.name), step))
        if after is None:
            continue
        again = nest_at(after.program, nest.statements[0], len(nest.around))
        inside = replace(situation, schedule=after, nest=again)
        loop = next(collapsed for collapsed in again.chain if collapsed.name == names[0])
        copies = copies_of(after.program, loop.body)
        # The number of vectors is a multiple for which the last row ends at the end of a vector.
        together = math.lcm(width, lanes) // lanes
        for vectors in (together * factor for factor in VECTORS):
            if copies is not None and vectors <= MOST_VECTORS and copies * vectors <= LARGEST_BODY:
                proposal = _proposal(inside, loop, vectors, is_moved=False)
                steps = (*from_zero(situation, inner.name), step, *proposal.steps)
                yield Proposal(
                    steps, f"rows of {width} share vectors: loop {names[0]}; {proposal.reason}"
                )


def _are_rows(situation: Situation, outer: Loop, inner: Loop, width: int) -> bool:
    """Whether every statement below writes rows of a width, one after the other in memory.

    A temporary of one iteration does not count: it gets lanes of its own.
    """
    program = situation.schedule.program
    targets = [statement_facts(program, name, situation.sizes).target for name in outer.statements]
    rows = [
        target.stride(inner.name) == target.bytes
        and target.stride(outer.name) == width * target.bytes
        for target in targets
    ]
    return any(rows) and all(
        is_row or not (target.is_argument or target.stride(inner.name))
        for is_row, target in zip(rows, targets, strict=True)
    )


def copies_of(program: Program, node: Node) -> int | None:
    """Return how many statements a node becomes when its loops are written out; None if unknown."""
    match node:
        case Sequence(children=children):
            parts = [copies_of(program, child) for child in children]
            known = [part for part in parts if part is not None]
            return sum(known) if len(known) == len(parts) else None
        case Loop(body=body):
            extent, inside = largest_extent(program, node), copies_of(program, body)
            return None if extent is None or inside is None else extent * inside
    return 1


def _proposal(situation: Situation, loop: Loop, vectors: int, *, is_moved: bool) -> Proposal:
    """Return the proposal for a vector loop, which is moved inside the others of its nest."""
    nest = situation.nest
    lanes = _lanes(situation, loop)
    outer, inner = fresh_names(
        situation.schedule.program, nest.chain[0], f"{loop.name}o", f"{loop.name}i"
    )
    inside = nest.reference(inner)
    order = [*(around.name for around in nest.chain if around is not loop), loop.name]
    moved = (Reorder(tuple(map(nest.reference, order))),) if is_moved else ()
    steps: tuple[Step, ...] = (
        *moved,
        *from_zero(situation, loop.name),
        Split(nest.reference(loop.name), lanes * vectors, (outer, inner)),
    )
    split = applied(situation.schedule, steps)
    if split is not None:
        own = privatized(split, inside, set(loop.statements), "lanes", own=f"each_{inner}")
        steps = (*steps, *own)
    steps = (*steps, Vectorize(inside, lanes), *([Unroll(inside)] if vectors > 1 else []))
    short = tuple(dict.fromkeys(loops_inside(nest.chain[-1] if is_moved else loop)))
    side = f"{vectors} vectors" if vectors > 1 else "one vector"
    return Proposal(
        (*steps, *map(Unroll, short)),
        f"{side} of {lanes} lanes run whole iterations of {loop.name}, in which the loops of a few "
        "iterations are written out: sums stay in registers",
    )


def _lanes(situation: Situation, loop: Loop) -> int:
    """Return the lanes for a loop: fewer if all its iterations fit in a narrower register."""
    lanes = vector_lanes(situation)
    extent = largest_extent(situation.schedule.program, loop)
    if extent is None:
        return lanes
    narrowest = max(2, lanes * NARROWEST_BITS // situation.machine.vector_bits)
    return min(lanes, max(narrowest, 1 << (extent - 1).bit_length()))


def loops_inside(loop: Loop) -> Iterator[str]:
    """Yield the loops inside a loop, by their first statement."""
    for inner in loops(loop.body):
        yield f"{inner.statements[0]}.{inner.name}"
