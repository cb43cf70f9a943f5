"""Conditional legality: the parameter values for which an illegal schedule is legal.

Projecting the broken pairs of instances onto the parameters gives the values for which the schedule
is illegal. The rest of the context is the condition. Before a condition is returned, the whole
schedule is judged again under it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.printing import format_expression
from polysched.ir.core.tree import executed
from polysched.ir.expr.affine import from_set
from polysched.ir.expr.expressions import Expression
from polysched.ir.isl.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.check import DEFAULT_QUOTA, check
from polysched.legality.checks.order import broken_dependences, demanded
from polysched.legality.checks.shared_bytes import shared_bytes
from polysched.legality.checks.storage import UndecidedError, storage_faults
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False, repr=False)
class Condition:
    """Condition on the parameters: the schedule is legal if and only if it holds.

    Attributes:
        expression: the condition over the parameters.
        parameters: the values that satisfy it, within the kernel's context.
        schedule: the same steps on the kernel restricted to these values: a legal schedule.
    """

    expression: Expression
    parameters: isl.Set
    schedule: Schedule

    def __str__(self) -> str:
        return format_expression(self.expression)

    def __repr__(self) -> str:
        return f"<Condition: {self}>"


def legality_condition(
    schedule: Schedule, *, quota: int = DEFAULT_QUOTA, seconds: float = DEFAULT_SECONDS
) -> Condition | None:
    """Compute the exact condition on the parameters under which a schedule is legal.

    Args:
        quota: isl operations for the condition, and again for its proof. 0: no limit.
        seconds: processor time of the call. 0: no limit.

    Returns:
        The condition; None if the schedule is legal for no values or for all values, or if the
        condition cannot be found within the limits.

    Raises:
        ScheduleError: the quota or the seconds are not a number, or are negative.
    """
    with time_budget(seconds):
        return _condition(schedule, quota)


def _condition(schedule: Schedule, quota: int) -> Condition | None:
    kernel = schedule.kernel
    if not kernel.parameters:
        return None
    try:
        with operation_quota(quota):
            illegal = _illegal_parameters(schedule.program)
            allowed = kernel.context.subtract(illegal).coalesce()
            if allowed.is_empty() or illegal.is_empty():
                return None
    except (QuotaExceededError, UndecidedError, isl.Error):
        return None
    try:
        restricted = _under(kernel, allowed, schedule)
    except ScheduleError:
        return None
    if not check(restricted, quota=quota).is_legal:
        return None
    return Condition(from_set(_overlapping(allowed, kernel.context)), allowed, restricted)


def _illegal_parameters(program: Program) -> isl.Set:
    """Return the parameters for which a dependence is broken, storage clobbered or a byte shared.

    If a dependence is broken, the storage and the shared bytes are not looked at: the final check
    under the condition judges them.

    Raises:
        UndecidedError: the storage cannot be judged.
    """
    tree = executed(program.tree)
    nowhere = program.kernel.context.subtract(program.kernel.context)
    broken = reduce(
        isl.Set.union,
        (
            place.relation.params()
            for _, places in broken_dependences(tree, demanded(program.dependences))
            for place in places
        ),
        nowhere,
    )
    if not broken.is_empty():
        return broken
    conflicts = [
        *(fault.instances for fault in storage_faults(program, tree)),
        *(pairs for *_, pairs in shared_bytes(program, tree)),
    ]
    return reduce(isl.Set.union, (conflict.params() for conflict in conflicts), nowhere)


def _overlapping(allowed: isl.Set, context: isl.Set) -> isl.Set:
    """Simplify a set: let its pieces overlap, and drop constraints that the context implies."""
    pieces = [isl.Set.from_basic_set(basic) for basic in allowed.get_basic_sets()]
    for position in range(len(pieces)):
        others = pieces[:position] + pieces[position + 1 :]
        rest = reduce(isl.Set.subtract, others, context)
        pieces[position] = pieces[position].gist(rest).coalesce()
    return reduce(isl.Set.union, pieces)


def _under(kernel: Kernel, context: isl.Set, schedule: Schedule) -> Schedule:
    """Apply the steps of a schedule to its kernel with another context."""
    statements = {
        name: replace(statement, domain=statement.domain.intersect_params(context))
        for name, statement in kernel.statements.items()
    }
    result = schedule.of(replace(kernel, context=context, statements=statements))
    for step, location in zip(schedule.steps, schedule.locations, strict=True):
        result = result.then(step, location)
    return result
