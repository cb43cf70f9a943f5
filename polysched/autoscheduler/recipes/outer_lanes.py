"""Vectorize a loop around several statements: lanes run whole iterations side by side."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.operations import element_bits
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.forms.private_arrays import privatized, temporaries
from polysched.ir.core.tree import Loop, LoopKind, loops
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

VECTORS = (2, 1)
"""Vectors that the lanes fill. Two run two chains of operations at once.

Measured on Zen 4 with 50 steps of the Mandelbrot set, a chain of 13 cycles a step: two vectors take
44 us, one 72, four 43.
"""
HELD_PART = 0.75
"""The part of the vector registers that temporaries may fill; operations need the others."""


def outer_lanes(situation: Situation) -> Iterator[Proposal]:
    """Propose each loop of an imperfect nest as the vector loop, the innermost first.

    Temporaries of an iteration get an element for each lane, next to each other.
    """
    nest, program = situation.nest, situation.schedule.program
    nested = (*nest.around, *loops(nest.chain[0]))
    if nest.is_perfect or any(loop.kind is not LoopKind.SEQUENTIAL for loop in nested):
        return
    lanes = vector_lanes(situation)
    for loop in reversed(nest.chain):
        held = sum(1 for _ in temporaries(program, set(loop.statements)))
        for vectors in VECTORS:
            # Lanes of several vectors are for values in registers, and only if these suffice.
            if vectors == 1 or 0 < held * vectors <= HELD_PART * situation.machine.vector_registers:
                proposal = _proposal(situation, loop, vectors * lanes, has_temporaries=held > 0)
                if proposal is not None:
                    yield proposal


def _proposal(
    situation: Situation, loop: Loop, lanes: int, *, has_temporaries: bool
) -> Proposal | None:
    """Return the steps that run whole iterations of a loop in lanes; None if that is illegal."""
    nest, below = situation.nest, set(loop.statements)
    reference = nest.reference(loop.name)
    outer, inner, into = fresh_names(
        situation.schedule.program, nest.chain[0], f"{loop.name}o", f"{loop.name}i", f"{loop.name}v"
    )
    own: tuple[Step, ...] = ()
    if has_temporaries:
        # Temporaries of one vector of iterations stay in registers.
        inside = nest.reference(inner)
        own = (*from_zero(situation, loop.name), Split(reference, lanes, (outer, inner)))
        split = applied(situation.schedule, own)
        if split is None:
            own = ()
        elif not lanes_are_legal(split, inside, lanes, below):
            return None
        else:
            own = (*own, *privatized(split, inside, below, "lanes", own=f"each_{inner}"))
            reference, into = inside, f"{inner}v"
    vectorize = Vectorize(reference, lanes, None if into == f"{loop.name}v" else into)
    reason = (
        f"{lanes} lanes run whole iterations of {loop.name}: the loops inside carry dependences, "
        "so lanes cannot run along them"
    )
    return Proposal((*own, vectorize), reason)


def vector_lanes(situation: Situation) -> int:
    """Return the lanes of one vector of the widest elements of a nest."""
    program = situation.schedule.program
    statements = [program.statements[name] for name in situation.nest.statements]
    bits = max(element_bits(program, statement) for statement in statements)
    return min(LARGEST_LANES, situation.machine.vector_bits // bits)


def from_zero(situation: Situation, loop: str) -> tuple[Step, ...]:
    """Return the step that makes a loop start at 0, so that its first vector is full."""
    nest = situation.nest
    facts = statement_facts(situation.schedule.program, nest.statements[0], situation.sizes)
    start = facts.loop(loop).start
    return (Shift(nest.reference(loop), -start),) if start else ()


def lanes_are_legal(schedule: Schedule, loop: str, lanes: int, below: set[str]) -> bool:
    """Whether lanes keep the order of dependences, except those of arrays that they may privatize.

    Copies in buffers do not remove dependences either. Making them, and privatizing, takes much
    longer than this test.
    """
    changed = applied(schedule, (Vectorize(loop, lanes),))
    return changed is not None and keeps_order(
        changed.program, below, frozenset(temporaries(changed.program, below))
    )
