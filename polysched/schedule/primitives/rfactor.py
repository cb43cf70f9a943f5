"""rfactor: factor a reduction into independent partial results and their combination."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Order, Reduction, Statement
from polysched.ir.core.tree import Leaf, Loop, Node, nested, statements
from polysched.ir.expr.affine import from_pw_aff, to_pw_aff
from polysched.ir.expr.expressions import Index, Load, operation
from polysched.ir.expr.functions import to_store
from polysched.ir.expr.neutral import neutral_element
from polysched.schedule.buffers.buffering import Buffering, own_dimension, plan_buffer
from polysched.schedule.buffers.copies import (
    copy_nest,
    copy_statement,
    redirected_statement,
    with_copies,
)
from polysched.schedule.buffers.translation import combined
from polysched.schedule.core.program import Program, find_loop


@dataclass(frozen=True)
class Rfactor:
    """Step record of :func:`rfactor`, which documents the fields."""

    statement: str
    loop: str
    into: str | None = None
    order: tuple[str, ...] | None = None


def rfactor(program: Program, step: Rfactor) -> Program:
    """Factor a reduction: accumulate a partial result per iteration of a loop, then combine them.

    No two iterations of the loop update the same element afterwards, so they may run in parallel or
    as lanes. The combination is a reduction with ``order="any"`` and can be factored again.

    Args:
        statement (str): a reduction ``a[e] = a[e] op f``. If ``e`` depends on data, a partial
            result holds all elements that may be updated.
        loop (str): a loop around it, often the outer or the inner loop of a split.
        into (str | None): name of the array of partial results, and the prefix of its two
            statements, ``<into>_init`` and ``<into>_combine``. By default the names are
            ``<array>_partial``, ``<statement>_init`` and ``<statement>_combine``. Their loops are
            named after the dimensions: ``"<statement>_combine.each_<loop>"``.
        order (tuple[str, ...] | None): the dimensions of the array of partial results, the
            contiguous one last, including ``each_<loop>``. By default ``each_<loop>`` is the first.
            Put it last if the iterations become lanes.

    before::

        for i in 0..n:
          for ko in 0..m / 8:
            for ki in 0..8: S: acc[i] = acc[i] + f(i, 8*ko + ki)

    after ``rfactor("S", "ko")``::

        for i in 0..n:
          for ko in 0..m / 8:
            acc_partial[ko, 0] = 0
            for ki in 0..8: S: acc_partial[ko, 0] = acc_partial[ko, 0] + f(i, 8*ko + ki)
          for each_ko in 0..m / 8:
            acc[i] = acc[i] + acc_partial[each_ko, 0]

    Checks:
        - The statement is a reduction, of integers or declared with ``order="any"``, else
          ``StepError``.
        - The loop is around the statement, sequential or parallel, has no prefetch and a bounded
          number of iterations, else ``StepError``.
        - ``order`` names each dimension once, and the new names are free, else ``StepError``.
        - Legality: other statements read the result only after it is combined, else
          ``IllegalScheduleError``.
    """
    statement, reduction = _free_reduction(program, step.statement)
    loop = _loop_around(program, step)
    array = statement.target.array
    into = step.into or f"{array}_partial"
    prefix = step.into or step.statement
    plan = plan_buffer(
        program, array, loop, into, step.order, users={statement.name}, expanded=True, may=True
    )
    initial, combine = _partial_statements(plan, statement, reduction, prefix)
    _require_free_names(program, plan, initial.name, combine.name)
    new = {initial.name: initial, combine.name: combine}
    partial = redirected_statement(plan, statement)
    changed = {**program.statements, statement.name: partial, **new}
    return replace(
        program,
        arrays={**program.arrays, into: plan.buffer},
        statements=changed,
        dependences=combined(plan, program.dependences, initial, combine, changed),
        tree=with_copies(
            plan,
            program.tree,
            new,
            first=nested(copy_nest(plan, initial), Leaf(initial.name)),
            after=_combining_nest(plan, combine),
        ),
    )


def _free_reduction(program: Program, name: str) -> tuple[Statement, Reduction]:
    """Return a statement that is a reduction, and how it combines.

    Raises:
        ScheduleError: there is no such statement, the statement is not a reduction, or the
            reduction must keep the program's order.
    """
    statement = program.statement(name)
    target = statement.target
    if statement.reduction is None:
        raise ScheduleError(
            f"statement '{name}' is not a reduction: expected '{target} = {target} op e' with op "
            f"one of +, -, *, min and max, where e does not read '{target.array}'"
        )
    if statement.reduction.order is not Order.ANY:
        raise ScheduleError(
            f"reduction '{name}' must combine in the program's order, and partial results change "
            f'it; if any order will do, declare it with order="any", or read C with --fast-math'
        )
    return statement, statement.reduction


def _loop_around(program: Program, step: Rfactor) -> str:
    """Return the loop as ``"statement.loop"``, which is never ambiguous.

    Raises:
        ScheduleError: there is no such loop, or the statement is not in it.
    """
    if "." not in step.loop:
        return f"{step.statement}.{step.loop}"
    if step.statement not in statements(find_loop(program, step.loop)):
        raise ScheduleError(f"statement '{step.statement}' is not in loop '{step.loop}'")
    return step.loop


def _partial_statements(
    plan: Buffering, statement: Statement, reduction: Reduction, prefix: str
) -> tuple[Statement, Statement]:
    """Return the statements that initialize and that combine the partial results."""
    ranges = (relation.range() for relation in plan.redirect.values())
    elements = reduce(isl.Set.union, ranges).coalesce()
    initial = copy_statement(plan, f"{prefix}_init", elements, outward=False)
    combine = copy_statement(plan, f"{prefix}_combine", elements, outward=True)
    dtype = plan.array.dtype
    old = Load(combine.target.array, combine.target.subscripts, dtype)
    total = operation(reduction.operator, old, combine.value)
    return (
        replace(
            initial, value=neutral_element(reduction.operator, dtype), location=statement.location
        ),
        replace(
            combine,
            value=to_store(total, dtype),
            reduction=Reduction(reduction.operator, Order.ANY, read=1),
            location=statement.location,
        ),
    )


def _require_free_names(program: Program, plan: Buffering, *names: str) -> None:
    for name in names:
        if name in program.statements or name in program.arrays or name == plan.buffer.name:
            raise ScheduleError(f"statement name '{name}' is taken; pass another with into=")


def _combining_nest(plan: Buffering, combine: Statement) -> Node:
    assert plan.first is not None
    assert plan.loop is not None
    index = Index(plan.tile_names[-1])
    value = to_pw_aff(index - from_pw_aff(plan.first), combine.domain.get_space())
    leaf, nest = Leaf(combine.name), copy_nest(plan, combine)
    partials = Loop(own_dimension(plan.loop, plan.array), {combine.name: value}, leaf)
    return nested((*nest[: plan.own_position], partials, *nest[plan.own_position :]), leaf)
