"""pack: copy the tile of an array that an iteration reads into a contiguous buffer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Leaf, nested
from polysched.schedule.buffers.buffering import plan_buffer
from polysched.schedule.buffers.copies import (
    copy_nest,
    copy_statement,
    redirected_statements,
    with_copies,
)
from polysched.schedule.buffers.translation import translated
from polysched.schedule.core.program import Program


@dataclass(frozen=True)
class Pack:
    """Step record of :func:`pack`, which documents the fields."""

    array: str
    at: str | None = None
    order: tuple[str, ...] | None = None
    into: str | None = None


def pack(program: Program, step: Pack) -> Program:
    """Pack the tile of an array that a loop iteration reads into a contiguous, aligned buffer.

    The copy runs at the start of the iteration. Without a loop, it runs before all loops, which
    pays where another layout is read many times. Its loops are named after the array's dimensions:
    ``"<into>.<dimension>"``.

    Args:
        array (str): the array, which the statements below the loop only read.
        at (str | None): the loop; by default the whole array is copied once, before all loops.
        order (tuple[str, ...] | None): the array's dimensions in the buffer's order, the contiguous
            one last; by default the array's own order.
        into (str | None): name of the buffer and of the copying statement; by default
            ``<array>_packed``.

    before::

        for jo in 0..m / 8:
          for i in 0..n:
            for ji in 0..8: S(i, B[i, 8*jo + ji])

    after ``pack("B", at="jo")``::

        for jo in 0..m / 8:
          for d0 in 0..n:
            for d1 in 0..8: B_packed[d0, d1] = B[d0, 8*jo + d1]
          for i in 0..n:
            for ji in 0..8: S(i, B_packed[i, ji])

    Checks:
        - The loop is sequential or parallel and has no prefetch, else ``StepError``.
        - Statements below it read the array with affine subscripts and do not write it, else
          ``StepError``.
        - The tile has a bounded extent in every dimension, else ``StepError``.
        - ``order`` names each dimension once, and the name ``into`` is free, else ``StepError``.
        - Legality: every value is written before its copy is made, and no tile overwrites the
          buffer of another tile in use, else ``IllegalScheduleError``.
    """
    into = step.into or f"{step.array}_packed"
    plan = plan_buffer(program, step.array, step.at, into, step.order)
    if plan.writes:
        where, remedy = f"at loop '{step.at}'", "use promote for an array that is updated"
        if step.at is None:
            where, remedy = "before all loops", "name a loop with at= that only reads it"
        raise ScheduleError(
            f"array '{step.array}' cannot be packed {where}: statement "
            f"'{plan.writes[0].statement}' writes it there; {remedy}"
        )
    elements = None
    for relation in plan.redirect.values():
        elements = relation.range() if elements is None else elements.union(relation.range())
    assert elements is not None
    copy = copy_statement(plan, into, elements.coalesce(), outward=False)
    statements = redirected_statements(program, plan)
    nest = nested(copy_nest(plan, copy), Leaf(into))
    return replace(
        program,
        arrays={**program.arrays, into: plan.buffer},
        statements={**statements, into: copy},
        dependences=translated(plan, program.dependences, copy, None),
        tree=with_copies(plan, program.tree, {into: copy}, first=nest),
    )
