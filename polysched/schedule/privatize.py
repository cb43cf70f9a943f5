"""privatize: every iteration of a loop gets a copy of its own of a temporary array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polysched.dependence.relations import Dependence
from polysched.dependence.values import value_flows
from polysched.errors import ScheduleError
from polysched.ir.kernel import Order, Role
from polysched.ir.smallest import SmallPoint, smallest_pair
from polysched.schedule.buffering import Buffering, plan_buffer
from polysched.schedule.copies import redirected_statements
from polysched.schedule.program import Program
from polysched.schedule.translation import translated


@dataclass(frozen=True)
class Privatize:
    """Give every iteration of a loop its own copy of what it uses of a temporary array.

    Args:
        array: a temporary array, or a buffer that a step has made. What an iteration reads of it,
            the iteration has written itself, and nobody else reads that.
        at: the loop.
        into: name of the array of copies; by default ``<array>_private``.
        order: the dimensions of the copies in another order, ``each_<loop>`` among them: by default
            it is the first; where iterations become lanes, last is best.
    """

    array: str
    at: str
    into: str | None = None
    order: tuple[str, ...] | None = None


def privatize(program: Program, step: Privatize) -> Program:
    """Let the iterations of a loop no longer share a temporary array (array expansion).

    The iterations may then run in parallel, or as lanes: their copies lie side by side, as the
    first dimension. ``promote`` gives an iteration a copy too, which lives only as long as the
    iteration; that is enough for threads, and takes less memory.

    before::

        for i in 0..n:
          t[0] = f(i)
          y[i] = t[0] * t[0]

    after ``privatize("t", at="i")``::

        for i in 0..n:
          t_private[i, 0] = f(i)
          y[i] = t_private[i, 0] * t_private[i, 0]
    """
    into = step.into or f"{step.array}_private"
    plan = plan_buffer(program, step.array, step.at, into, step.order, expanded=True)
    if plan.array.role is not Role.TEMPORARY:
        raise ScheduleError(
            f"array '{step.array}' is an {plan.array.role.value}, which the caller shares; "
            "privatize takes a temporary array"
        )
    _require_own_values(program, plan, step)
    return replace(
        program,
        arrays={**program.arrays, into: plan.buffer},
        statements=redirected_statements(program, plan),
        dependences=translated(plan, program.dependences, None, None),
    )


def _require_own_values(program: Program, plan: Buffering, step: Privatize) -> None:
    """Check that every value is written and read in one iteration.

    Raises:
        ScheduleError: some is not; the message names the smallest pair of instances.
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
        f"{_named(flow.sink.statement, sink)} reads what {_named(flow.source.statement, source)} "
        f"writes{_place(plan, flow)}{_given(source)}{_advice(program, flows, step)}"
    )


def _shared(program: Program, plan: Buffering) -> Iterator[Dependence]:
    """The flow of values between different iterations, and between one and what is around."""
    of_array = tuple(one for one in program.dependences if one.array == plan.array.name)
    for flow in value_flows(of_array):
        relation = flow.relation
        if flow.source in plan.redirect and flow.sink in plan.redirect:
            relation = relation.subtract(plan.same_tile(flow))
        elif flow.source not in plan.redirect and flow.sink not in plan.redirect:
            continue
        if not relation.is_empty():
            yield replace(flow, relation=relation)


def _named(statement: str, point: SmallPoint) -> str:
    return f"{statement}[{','.join(map(str, point.values))}]"


def _place(plan: Buffering, flow: Dependence) -> str:
    if flow.source not in plan.redirect:
        return " outside of the loop"
    return " in another iteration" if flow.sink in plan.redirect else " inside the loop"


def _given(point: SmallPoint) -> str:
    given = ", ".join(f"{name} = {value}" for name, value in point.parameters)
    return f" (with {given})" if given else ""


def _advice(program: Program, flows: list[Dependence], step: Privatize) -> str:
    for flow in flows:
        name = flow.source.statement
        reduction = program.statements[name].reduction
        if flow.sink.statement == name and reduction is not None:
            free = "" if reduction.order is Order.ANY else 'declare it with order="any" and '
            return f"; '{name}' is a reduction: {free}use rfactor('{name}', '{step.at}')"
    return "; only a copy that is used in its own iteration can be the iteration's own"
