"""Conditional legality: for which parameters an illegal schedule is legal after all.

The pairs of instances that the schedule breaks, projected onto the parameters, are the values for
which it is illegal; the rest of the context is the condition. It is verified before it is given:
the schedule is judged again, whole, under that context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.affine import from_set
from polysched.ir.budget import DEFAULT_SECONDS, time_budget
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Kernel
from polysched.ir.printing import format_expression
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import executed
from polysched.legality.check import DEFAULT_QUOTA, check
from polysched.legality.order import broken_dependences, demanded
from polysched.legality.shared_bytes import shared_bytes
from polysched.legality.storage import UndecidedError, storage_faults
from polysched.schedule.program import Program
from polysched.schedule.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Condition:
    """The schedule is legal if, and of all values of the context only if, ``expression`` holds.

    Attributes:
        expression: the condition over the parameters.
        parameters: the values that satisfy it, the kernel's context included.
        schedule: the same steps on the kernel under this context: a legal schedule.
    """

    expression: Expression
    parameters: isl.Set
    schedule: Schedule

    def __str__(self) -> str:
        return format_expression(self.expression)


def legality_condition(
    schedule: Schedule, *, quota: int = DEFAULT_QUOTA, seconds: float = DEFAULT_SECONDS
) -> Condition | None:
    """The exact condition on the parameters under which a schedule is legal.

    Args:
        quota: what isl may spend on the condition, and again on its proof, in operations. 0: no
            limit.
        seconds: the wall time of the call. 0: no limit.

    Returns:
        None if it is legal for no values, for all of them (it needs no condition), or if the
        condition cannot be found within the limits.

    Raises:
        ScheduleError: the quota or the seconds are no number, or less than 0.
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
    """The values for which some pair of instances runs in the wrong order, spoils the memory, or
    shares a byte.

    Raises:
        UndecidedError: whether the memory is spoilt cannot be told.
    """
    tree = executed(program.tree)
    nowhere = program.kernel.context.subtract(program.kernel.context)
    broken = reduce(
        isl.Set.union,
        (
            place.relation.params()
            for _, found in broken_dependences(tree, demanded(program.dependences))
            for place in found
        ),
        nowhere,
    )
    if not broken.is_empty():
        return broken
    wrong = [
        *(fault.instances for fault in storage_faults(program, tree)),
        *(pairs for *_, pairs in shared_bytes(program, tree)),
    ]
    return reduce(isl.Set.union, (one.params() for one in wrong), nowhere)


def _overlapping(allowed: isl.Set, context: isl.Set) -> isl.Set:
    """The same values in fewer words: pieces may overlap, and say nothing that the context says."""
    pieces = [isl.Set.from_basic_set(basic) for basic in allowed.get_basic_sets()]
    for position in range(len(pieces)):
        others = pieces[:position] + pieces[position + 1 :]
        rest = reduce(isl.Set.subtract, others, context)
        pieces[position] = pieces[position].gist(rest).coalesce()
    return reduce(isl.Set.union, pieces)


def _under(kernel: Kernel, context: isl.Set, schedule: Schedule) -> Schedule:
    """The same steps on the kernel with another context."""
    statements = {
        name: replace(statement, domain=statement.domain.intersect_params(context))
        for name, statement in kernel.statements.items()
    }
    result = schedule.of(replace(kernel, context=context, statements=statements))
    for step, location in zip(schedule.steps, schedule.locations, strict=True):
        result = result.then(step, location)
    return result
