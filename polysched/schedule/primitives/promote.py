"""promote: keep the tile of an array that an iteration updates in a buffer or in registers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind
from polysched.dependence.values import overwritten, value_flows_of
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role, Statement
from polysched.ir.core.tree import Leaf, LoopKind, Node, nested
from polysched.ir.expr.expressions import Constant
from polysched.schedule.buffers.buffering import Buffering, plan_buffer
from polysched.schedule.buffers.copies import (
    copy_nest,
    copy_statement,
    redirected_statements,
    with_copies,
)
from polysched.schedule.buffers.translation import translated
from polysched.schedule.core.program import Program, require_positive
from polysched.schedule.primitives.unroll import LARGEST_UNROLLED
from polysched.schedule.primitives.vectorize import vectorized


@dataclass(frozen=True)
class Promote:
    """Step record of :func:`promote`, which documents the fields."""

    array: str
    at: str
    lanes: int | None = None
    into: str | None = None
    order: tuple[str, ...] | None = None


def promote(program: Program, step: Promote) -> Program:
    """Promote the tile of an array that an iteration of a loop updates to a buffer of its own.

    At the start of the iteration the elements whose old value is read are copied in. At its end the
    elements that are read later are copied out. A temporary that is used only inside the iteration
    needs no copy.

    Args:
        array (str): the array, which a statement below the loop writes.
        at (str): the loop.
        lanes (int | None): copy this many elements at a time along the buffer's last dimension,
            with all other copy loops unrolled, so that a buffer of literal extents becomes
            registers. None leaves plain loops, to be scheduled as ``"<into>_in.<dimension>"`` and
            ``"<into>_out.<dimension>"``.
        into (str | None): name of the buffer; by default ``<array>_local``.
        order (tuple[str, ...] | None): the array's dimensions in the buffer's order, the contiguous
            one last; by default the array's own order.

    before::

        for i in 0..n:
          for k in 0..m: c[i] = c[i] + a[i, k]

    after ``promote("c", at="i")``::

        for i in 0..n:
          c_local[0] = c[i]
          for k in 0..m: c_local[0] = c_local[0] + a[i, k]
          c[i] = c_local[0]

    Checks:
        - The loop is sequential or parallel and has no prefetch, else ``StepError``.
        - A statement below it writes the array, and all subscripts there are affine, else
          ``StepError``.
        - The tile has a bounded extent in every dimension, else ``StepError``.
        - With ``lanes``: it is positive, the loop is not inside a vector loop, the tile has literal
          extents and takes at most 1024 copies, else ``StepError``.
        - ``order`` names each dimension once, and the name ``into`` is free, else ``StepError``.
        - Legality: every read, through the buffer or from the array, gets the value that it gets in
          the kernel, else ``IllegalScheduleError``.
    """
    into = step.into or f"{step.array}_local"
    if step.lanes is not None:
        require_positive(f"the number of lanes of promote('{step.array}')", step.lanes)
    plan = plan_buffer(program, step.array, step.at, into, step.order)
    if not plan.writes:
        raise ScheduleError(
            f"no statement below loop '{step.at}' writes array '{step.array}'; use pack for an "
            "array that is only read there"
        )
    if step.lanes is not None:
        _require_no_vector_around(plan)
        _require_few_copies(plan, step.lanes)
    copy_in = _copy(plan, f"{into}_in", _read_before_written(program, plan), outward=False)
    copy_out = _copy(plan, f"{into}_out", _read_later(program, plan), outward=True)
    statements = redirected_statements(program, plan)
    copies = {copy.name: copy for copy in (copy_in, copy_out) if copy is not None}
    return replace(
        program,
        arrays={**program.arrays, into: plan.buffer},
        statements={**statements, **copies},
        dependences=translated(plan, program.dependences, copy_in, copy_out),
        tree=with_copies(
            plan,
            program.tree,
            copies,
            first=_nest(plan, copy_in, step.lanes) if copy_in else None,
            last=_nest(plan, copy_out, step.lanes) if copy_out else None,
        ),
    )


def _require_no_vector_around(plan: Buffering) -> None:
    """Check that the copies can be vectors.

    Raises:
        ScheduleError: the copies would run inside a vector loop.
    """
    assert plan.loop is not None
    for loop in plan.around:
        if loop.kind is LoopKind.VECTOR:
            raise ScheduleError(
                f"the copies of promote('{plan.array.name}') cannot be vectors, for loop "
                f"'{plan.loop.name}' runs inside the vector loop '{loop.name}'; leave lanes= away, "
                "or take a loop outside of it"
            )


def _require_few_copies(plan: Buffering, lanes: int) -> None:
    """Check that the copies of ``lanes`` elements each can be unrolled.

    Raises:
        ScheduleError: the buffer has an extent that is not a literal, or takes too many copies.
    """
    assert plan.loop is not None
    name, at = plan.array.name, plan.loop.name
    extents = [int(e.value) for e in plan.buffer.stored_shape if isinstance(e, Constant)]
    if len(extents) < len(plan.buffer.stored_shape):
        shape = ", ".join(map(str, plan.buffer.stored_shape))
        raise ScheduleError(
            f"an iteration of loop '{at}' touches a tile of array '{name}' whose extents, "
            f"({shape}), are not literals, so copies with lanes= cannot be unrolled; tile the "
            "loops below it, or leave lanes= away"
        )
    *outer, last = extents or [1]
    copies = prod(outer) * -(-last // lanes)
    if copies > LARGEST_UNROLLED:
        raise ScheduleError(
            f"the tile of array '{name}' in an iteration of loop '{at}' takes {copies} copies of "
            f"{lanes} lanes, more than {LARGEST_UNROLLED}; tile the loops below it, or leave "
            "lanes= away"
        )


def _copy(plan: Buffering, name: str, elements: isl.Set, *, outward: bool) -> Statement | None:
    if elements.is_empty():
        return None
    return copy_statement(plan, name, elements.coalesce(), outward=outward)


def _union(sets: list[isl.Set], like: isl.Set) -> isl.Set:
    result = isl.Set.empty(like.get_space())
    for member in sets:
        result = result.union(member)
    return result


def _read_before_written(program: Program, plan: Buffering) -> isl.Set:
    """Return the ``[tile, element]`` pairs of which the tile reads a value that it did not write.

    Of the updates of a free reduction (``order="any"``) any may run first and read the old value.
    """
    spread = next(iter(plan.redirect.values())).range()
    needed = []
    for read in plan.reads:
        own = program.statements[read.statement].domain
        for dependence in program.dependences:
            if (
                dependence.kind is DependenceKind.FLOW
                and not dependence.reorderable
                and dependence.sink == read
                and dependence.source in plan.redirect
            ):
                inside = plan.same_tile(dependence)
                foreign = overwritten(
                    dependence, program.dependences, lambda output: _leaving_tile(plan, output)
                )
                fresh = inside.subtract(foreign)
                own = own.subtract(fresh.range())
        needed.append(plan.redirect[read].intersect_domain(own).range())
    return _union(needed, spread)


def _leaving_tile(plan: Buffering, dependence: Dependence) -> isl.Map:
    if dependence.sink not in plan.redirect:
        return dependence.relation
    return plan.other_tile(dependence)


def _read_later(program: Program, plan: Buffering) -> isl.Set:
    """Return the ``[tile, element]`` pairs that hold a value which is read outside the tile."""
    spread = next(iter(plan.redirect.values())).range()
    if plan.array.role in (Role.OUTPUT, Role.INOUT):
        return _union([plan.redirect[write].range() for write in plan.writes], spread)
    visible = []
    for flow in value_flows_of(plan.array.name, program.dependences):
        if flow.source in plan.writes:
            outside = _leaving_tile(plan, flow).domain()
            visible.append(plan.redirect[flow.source].intersect_domain(outside).range())
    return _union(visible, spread)


def _nest(plan: Buffering, copy: Statement, lanes: int | None) -> Node:
    loops = copy_nest(plan, copy)
    if lanes is None or not loops:
        return nested(loops, Leaf(copy.name))
    outer, last = tuple(replace(loop, kind=LoopKind.UNROLLED) for loop in loops[:-1]), loops[-1]
    innermost = replace(last, body=Leaf(copy.name))
    vectors = vectorized(innermost, lanes, last.name, f"{last.name}v")
    return nested(outer, replace(vectors, kind=LoopKind.UNROLLED))
