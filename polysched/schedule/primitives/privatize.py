"""privatize: give every iteration of a loop its own copy of a temporary array (array expansion)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polysched.dependence.relations import Dependence
from polysched.dependence.values import value_flows_of
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Order, Role
from polysched.ir.isl.smallest import SmallPoint, smallest_pair
from polysched.schedule.buffers.buffering import Buffering, plan_buffer
from polysched.schedule.buffers.copies import without_copies
from polysched.schedule.core.program import Program


@dataclass(frozen=True)
class Privatize:
    """Step record of :func:`privatize`, which documents the fields."""

    array: str
    at: str
    into: str | None = None
    order: tuple[str, ...] | None = None


def privatize(program: Program, step: Privatize) -> Program:
    """Privatize a temporary array: expand it by a dimension over the iterations of a loop.

    Iterations no longer share elements, so they may run in parallel or as lanes. The copies lie
    side by side, by default along the first dimension. ``promote`` also gives an iteration a copy,
    which lives only as long as the iteration; it suffices for threads and takes less memory.

    Args:
        array (str): a temporary array of the kernel, or a buffer that an earlier step has made.
        at (str): the loop.
        into (str | None): name of the expanded array; by default ``<array>_private``.
        order (tuple[str, ...] | None): the dimensions of the expanded array, the contiguous one
            last, including ``each_<loop>``. By default ``each_<loop>`` is the first. Put it last if
            the iterations become lanes.

    before::

        for i in 0..n:
          t[0] = f(i)
          y[i] = t[0] * t[0]

    after ``privatize("t", at="i")``::

        for i in 0..n:
          t_private[i, 0] = f(i)
          y[i] = t_private[i, 0] * t_private[i, 0]

    Checks:
        - The loop is sequential or parallel and has no prefetch, else ``StepError``.
        - The array is a temporary, and statements below the loop access it with affine subscripts,
          else ``StepError``.
        - Every value is written and read in one iteration of the loop, else ``StepError`` with the
          smallest pair of instances.
        - The loop has a bounded number of iterations, and the array a bounded extent in each of
          them, else ``StepError``.
        - ``order`` names each dimension once, and the name ``into`` is free, else ``StepError``.
        - Legality: loops around the loop reuse the memory only after its last read, else
          ``IllegalScheduleError``.
    """
    into = step.into or f"{step.array}_private"
    plan = plan_buffer(program, step.array, step.at, into, step.order, expanded=True)
    if plan.array.role is not Role.TEMPORARY:
        raise ScheduleError(
            f"array '{step.array}' is an {plan.array.role.value}, which the caller shares; "
            "privatize takes a temporary array"
        )
    _require_own_values(program, plan, step)
    return without_copies(program, plan)


def _require_own_values(program: Program, plan: Buffering, step: Privatize) -> None:
    """Check that every value is written and read in one iteration.

    Raises:
        ScheduleError: iterations share a value; the message names the smallest pair of instances.
    """
    flows = list(_shared(program, plan))
    if not flows:
        return
    pairs = [(*smallest_pair(flow.relation), flow) for flow in flows]
    source, sink, flow = min(
        pairs,
        key=lambda pair: (
            [value for _, value in pair[0].parameters],
            pair[0].values,
            pair[1].values,
        ),
    )
    raise ScheduleError(
        f"the iterations of loop '{step.at}' share values of array '{step.array}': "
        f"{_instance(flow.sink.statement, sink)} reads what "
        f"{_instance(flow.source.statement, source)} "
        f"writes{_where_written(plan, flow)}{_parameters(source)}{_advice(program, flows, step)}"
    )


def _shared(program: Program, plan: Buffering) -> Iterator[Dependence]:
    """Yield the values that flow between iterations, or between the loop and code outside it."""
    for flow in value_flows_of(plan.array.name, program.dependences):
        relation = flow.relation
        if flow.source in plan.redirect and flow.sink in plan.redirect:
            relation = relation.subtract(plan.same_tile(flow))
        elif flow.source not in plan.redirect and flow.sink not in plan.redirect:
            continue
        if not relation.is_empty():
            yield replace(flow, relation=relation)


def _instance(statement: str, point: SmallPoint) -> str:
    return f"{statement}[{','.join(map(str, point.values))}]"


def _where_written(plan: Buffering, flow: Dependence) -> str:
    if flow.source not in plan.redirect:
        return " outside of the loop"
    return " in another iteration" if flow.sink in plan.redirect else " inside the loop"


def _parameters(point: SmallPoint) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in point.parameters)
    return f" (with {values})" if values else ""


def _advice(program: Program, flows: list[Dependence], step: Privatize) -> str:
    for flow in flows:
        name = flow.source.statement
        reduction = program.statements[name].reduction
        if flow.sink.statement == name and reduction is not None:
            free = "" if reduction.order is Order.ANY else 'declare it with order="any" and '
            return f"; '{name}' is a reduction: {free}use rfactor('{name}', '{step.at}')"
    return "; only a copy that is used in its own iteration can be the iteration's own"
