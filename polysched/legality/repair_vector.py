"""Repair of vector loops: fewer lanes, another loop, or only the statements that allow it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.errors import ScheduleError
from polysched.ir.tree import LoopKind, Sequence, executed, path, statements
from polysched.legality.order import keeps
from polysched.legality.repair import Case, StepEdit, replace_step
from polysched.legality.within import loop_reference
from polysched.schedule.distribute import Distribute
from polysched.schedule.primitives import Step, transform
from polysched.schedule.program import Program, base_name, find_loop
from polysched.schedule.vectorize import Vectorize


def fewer_lanes(case: Case) -> list[StepEdit]:
    """The same vector loop with half the lanes, a quarter, and so on."""
    step = case.step
    if not isinstance(step, Vectorize):
        return []
    smaller = (step.lanes >> shift for shift in range(1, step.lanes.bit_length() - 1))
    return [
        replace_step(case.schedule, case.index, (replace(step, lanes=lanes),)) for lanes in smaller
    ]


def other_vector_loops(case: Case) -> list[StepEdit]:
    """The lanes along another loop around the witness, inner loops first."""
    step = case.step
    if not isinstance(step, Vectorize) or case.ends[0] not in case.before.statements:
        return []
    vectorised = find_loop(case.before, step.loop)
    return [
        replace_step(
            case.schedule,
            case.index,
            (Vectorize(loop_reference(case.before, loop), step.lanes),),
        )
        for loop in reversed(path(case.before.tree, case.ends[0]))
        if loop is not vectorised and loop.kind is LoopKind.SEQUENTIAL
    ]


def distributed_vectors(case: Case) -> list[StepEdit]:
    """A loop of its own for each part of the body; only the loops that allow it become vectors."""
    step = case.step
    if not isinstance(step, Vectorize):
        return []
    loop = find_loop(case.before, step.loop)
    if not isinstance(loop.body, Sequence):
        return []
    distribute = Distribute(step.loop)
    program = transform(case.before, distribute)
    firsts = [statements(part)[0] for part in loop.body.children]
    vectors = tuple(_legal_vectors(program, step, firsts))
    if not vectors:
        return []
    steps: tuple[Step, ...] = (distribute, *vectors)
    return [replace_step(case.schedule, case.index, steps)]


def _legal_vectors(program: Program, step: Vectorize, firsts: list[str]) -> Iterator[Vectorize]:
    for first in firsts:
        vector = replace(step, loop=f"{first}.{base_name(step.loop)}")
        try:
            changed = transform(program, vector)
        except ScheduleError:  # there is a vector loop inside this part
            continue
        if keeps(executed(changed.tree), changed.dependences):
            program = changed
            yield vector
