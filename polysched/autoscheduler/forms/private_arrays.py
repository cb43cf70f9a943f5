"""Privatize the temporaries of a loop, where every value is written and read in one iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set

import islpy as isl

from polysched.autoscheduler.forms.legal import ORDER_QUOTA, applied
from polysched.dependence.values import value_flows_of
from polysched.ir.core.kernel import Role
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.schedule.buffers.lifetime import references_to
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.schedule import Schedule


def temporaries(program: Program, below: Set[str]) -> Iterator[str]:
    """Yield the temporary arrays that some statements use."""
    for name, array in program.arrays.items():
        users = {use.statement for use in references_to(program, array)}
        if array.role is Role.TEMPORARY and users & below:
            yield name


def privatized(
    schedule: Schedule,
    at: str,
    below: Set[str],
    suffix: str,
    *,
    own: str | None = None,
    shared: Set[str] = frozenset(),
    accepts: Callable[[Program, str], bool] = lambda *_: True,
) -> tuple[Privatize, ...]:
    """Return the steps that give each iteration of a loop its own temporaries.

    Args:
        below: the statements below the loop.
        suffix: the end of the new arrays' names.
        own: the dimension of the iterations, which becomes the contiguous one; None if it is first.
        shared: arrays that the iterations share.
        accepts: whether a program with the new array of a name is wanted.
    """
    steps: list[Privatize] = []
    for name in [
        temporary for temporary in temporaries(schedule.program, below) if temporary not in shared
    ]:
        # Privatizing is refused then, after much longer work.
        if _crosses(schedule.program, name, below):
            continue
        array = schedule.program.arrays[name]
        stored = array.dimensions[array.tile :]
        order = (*stored, own) if own is not None and own not in stored else None
        step = Privatize(name, at, fresh_array(schedule.program, f"{name}_{suffix}"), order)
        changed = applied(schedule, [step])
        if changed is not None and accepts(changed.program, step.into or ""):
            schedule = changed
            steps.append(step)
    return tuple(steps)


def _crosses(program: Program, array: str, below: Set[str]) -> bool:
    """Whether values of an array flow between some statements and others."""
    try:
        with operation_quota(ORDER_QUOTA):
            flows = value_flows_of(array, program.dependences)
    except (QuotaExceededError, isl.Error):
        return False
    return any((flow.source.statement in below) != (flow.sink.statement in below) for flow in flows)


def fresh_array(program: Program, wanted: str) -> str:
    """Return a name for a new array that no array or statement has: ``t``, ``t2``, ``t3``."""
    name, number = wanted, 1
    while name in program.arrays or name in program.statements:
        number += 1
        name = f"{wanted}{number}"
    return name
