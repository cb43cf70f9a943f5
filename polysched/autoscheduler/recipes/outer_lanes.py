"""Vectorize a loop around several statements: lanes run whole iterations side by side."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.candidate import Proposal, Situation
from polysched.autoscheduler.legal import applied
from polysched.autoscheduler.nests import fresh_names
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind, loops
from polysched.schedule.buffers.lifetime import references_to
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.primitives.vectorize import LARGEST_LANES, Vectorize
from polysched.schedule.table import Step


def outer_lanes(situation: Situation) -> Iterator[Proposal]:
    """Propose each loop of an imperfect nest as the vector loop, the innermost first.

    Temporaries of an iteration get an element for each lane, next to each other.
    """
    nest, program = situation.nest, situation.schedule.program
    nested = (*nest.around, *loops(nest.chain[0]))
    if nest.is_perfect or any(loop.kind is not LoopKind.SEQUENTIAL for loop in nested):
        return
    bits = max(
        max(8, program.arrays[access.array].dtype.bits)
        for name in nest.statements
        for access in program.statements[name].accesses
    )
    lanes = min(LARGEST_LANES, situation.machine.vector_bits // bits)
    for loop in reversed(nest.chain):
        reference = nest.reference(loop.name)
        into = fresh_names(program, nest.chain[0], f"{loop.name}v")[0]
        own = _privatized(situation, loop.name, reference, set(loop.statements))
        vectorize = Vectorize(reference, lanes, None if into == f"{loop.name}v" else into)
        reason = (
            f"{lanes} lanes run whole iterations of {loop.name}: the loops inside carry "
            "dependences, so lanes cannot run along them"
        )
        yield Proposal((*own, vectorize), reason)


def _privatized(
    situation: Situation, loop: str, reference: str, below: set[str]
) -> tuple[Step, ...]:
    schedule = situation.schedule
    steps: list[Step] = []
    for name, array in situation.schedule.program.arrays.items():
        users = {use.statement for use in references_to(schedule.program, array)}
        if array.role is Role.TEMPORARY and users and users <= below:
            stored = array.dimensions[array.tile :]
            own = f"each_{loop}"
            order = (*(d for d in stored), own) if own not in stored else None
            step = Privatize(name, reference, _free(schedule.program, name), order)
            changed = applied(schedule, [step])
            if changed is not None:
                schedule = changed
                steps.append(step)
    return tuple(steps)


def _free(program: Program, array: str) -> str:
    name, number = f"{array}_lanes", 1
    while name in program.arrays or name in program.statements:
        number += 1
        name = f"{array}_lanes{number}"
    return name
