"""Repair of vector and parallel loops: fewer lanes, another loop, distribution, or a wavefront."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop, LoopKind, Sequence, executed, path, statements
from polysched.legality.checks.carried import loop_reference
from polysched.legality.checks.order import demanded, keeps
from polysched.legality.repairs.repair import Case, StepEdit, replace_step
from polysched.schedule.core.program import Program, base_name, find_loop
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.table import Step, transform

_LARGEST_FACTOR = 3
"""Largest skew factor: neighbors up to two elements ahead in the row before."""


def fewer_lanes(case: Case) -> list[StepEdit]:
    """Propose half the lanes, a quarter, and so on down to 2, for an offending vector loop."""
    step = case.step
    if not isinstance(step, Vectorize):
        return []
    assert step.lanes is not None  # Schedule.then has filled them in
    smaller = (step.lanes >> shift for shift in range(1, step.lanes.bit_length() - 1))
    return [
        replace_step(case.schedule, case.index, (replace(step, lanes=lanes),)) for lanes in smaller
    ]


def other_loops(case: Case) -> list[StepEdit]:
    """Propose another loop around the witness: inner loops first for lanes, outer for threads."""
    step = case.step
    if not isinstance(step, Vectorize | Parallel) or case.ends[0] not in case.before.statements:
        return []
    chosen = find_loop(case.before, step.loop)
    around = path(case.before.tree, case.ends[0])
    references = [
        loop_reference(case.before, loop)
        for loop in (around if isinstance(step, Parallel) else reversed(around))
        if loop is not chosen and loop.kind is LoopKind.SEQUENTIAL
    ]
    return [
        replace_step(
            case.schedule,
            case.index,
            (
                Parallel(reference)
                if isinstance(step, Parallel)
                else Vectorize(reference, step.lanes),
            ),
        )
        for reference in references
    ]


def distributed(case: Case) -> list[StepEdit]:
    """Propose to distribute the loop, and to vectorize or parallelize only the legal parts."""
    step = case.step
    if not isinstance(step, Vectorize | Parallel):
        return []
    loop = find_loop(case.before, step.loop)
    if not isinstance(loop.body, Sequence):
        return []
    distribute = Distribute(step.loop)
    program = transform(case.before, distribute)
    firsts = [statements(part)[0] for part in loop.body.children]
    changed = tuple(_legal_parts(program, step, firsts))
    if not changed:
        return []
    steps: tuple[Step, ...] = (distribute, *changed)
    return [replace_step(case.schedule, case.index, steps)]


def _legal_parts(
    program: Program, step: Vectorize | Parallel, firsts: list[str]
) -> Iterator[Vectorize | Parallel]:
    for first in firsts:
        part = replace(step, loop=f"{first}.{base_name(step.loop)}")
        try:
            changed = transform(program, part)
        except ScheduleError:  # this part contains a vector loop
            continue
        if keeps(executed(changed.tree), demanded(changed.dependences)):
            program = changed
            yield part


def other_loops_or_wavefronts(case: Case) -> list[StepEdit]:
    """Propose another loop around the witness; if none is legal, a wavefront."""
    return [*other_loops(case), *wavefronts(case)]


def wavefronts(case: Case) -> list[StepEdit]:
    """Propose to skew the offending loop and the loop next to it, and to interchange them."""
    step = case.step
    if not isinstance(step, Vectorize | Parallel) or case.ends[0] not in case.before.statements:
        return []
    chosen = find_loop(case.before, step.loop)
    pair = _nested_pair(path(case.before.tree, case.ends[0]), chosen)
    if pair is None:
        return []
    outer, inner = (loop_reference(case.before, loop) for loop in pair)
    return [
        replace_step(
            case.schedule,
            case.index,
            (Skew(inner, outer, factor), Reorder((inner, outer)), replace(step, loop=outer)),
        )
        for factor in range(1, _LARGEST_FACTOR + 1)
    ]


def _nested_pair(around: tuple[Loop, ...], chosen: Loop) -> tuple[Loop, Loop] | None:
    """The loop and the one directly inside it, else the one directly around it and the loop."""
    pairs = [
        (outer, inner)
        for outer, inner in pairwise(around)
        if outer.body is inner
        and outer.kind is inner.kind is LoopKind.SEQUENTIAL
        and chosen in (outer, inner)
    ]
    return pairs[-1] if pairs else None
