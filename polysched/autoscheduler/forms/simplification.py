"""Simplify the program before all other stages: what only passes values on stands in every way.

``int with = best[w - 4] + v; best[w] = with > best[w] ? with : best[w];`` becomes one statement, so
that every recipe for a perfect nest fits: register tiles, time tiles, rows side by side. Otherwise
distribution stores the temporary and loads it again.
"""

from __future__ import annotations

from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied
from polysched.machine.description import Machine
from polysched.schedule.primitives.simplify import Simplify
from polysched.schedule.schedule import Schedule
from polysched.simplify.simplified import MOST_ROUNDS
from polysched.simplify.tails import ends_at_stored_element

ROUNDS = (MOST_ROUNDS, 2, 1)
"""Rounds to try in turn: many rounds may need more isl operations than a step has."""


def with_simplification(schedule: Schedule) -> tuple[Schedule, tuple[Decision, ...]]:
    """Simplify the program, if that changes it and no other step comes first."""
    for rounds in ROUNDS:
        step = Simplify(rounds)
        changed = applied(schedule, (step,))
        if changed is not None:
            break
    if changed is None or changed.program is schedule.program:
        return schedule, ()
    before, after = schedule.program, changed.program
    gone = [name for name in before.arrays if name not in after.arrays]
    reason = (
        f"{', '.join(gone)}: computed where they are read, without temporaries"
        if gone
        else "values that are never read are not computed, and stores of literals come first"
    )
    names = tuple(
        name
        for name, statement in after.statements.items()
        if statement is not before.statements.get(name)
    )
    return changed, (Decision((step,), names or tuple(after.statements), reason),)


def with_tails(schedule: Schedule, machine: Machine) -> tuple[Schedule, tuple[Decision, ...]]:
    """Split the last terms off sums that end at a stored element, if there are such sums.

    The step simplifies first, which takes long, and changes little in a simplified program.
    """
    kernel = schedule.program.kernel
    if not any(
        ends_at_stored_element(kernel, statement) for statement in kernel.statements.values()
    ):
        return schedule, ()
    bits = max(array.dtype.bits for array in schedule.kernel.arrays.values())
    step = Simplify(1, tails=max(1, machine.vector_bits // bits))
    changed = applied(schedule, (step,))
    if changed is None or changed.program is schedule.program:
        return schedule, ()
    reason = f"the last terms of sums, less than {step.tails}, stay scalar: one was just stored"
    return changed, (Decision((step,), tuple(changed.program.statements), reason),)
