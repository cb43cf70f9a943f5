"""Inline temporaries: a value that one statement reads in the same iteration needs no array.

``int with = best[w - 4] + v; best[w] = with > best[w] ? with : best[w];`` becomes one statement, so
that every recipe for a perfect nest fits: register tiles, time tiles, rows side by side. Otherwise
distribution stores the temporary and loads it again.
"""

from __future__ import annotations

from polysched.autoscheduler.candidate import Decision
from polysched.autoscheduler.legal import applied
from polysched.ir.core.kernel import Role
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.schedule import Schedule


def inlined(schedule: Schedule) -> tuple[Schedule, tuple[Decision, ...]]:
    """Inline each temporary that one statement reads, in the loops in which it is written.

    Nothing is computed more often than before. A step that does not fit is left out.
    """
    steps: list[Inline] = []
    before = schedule.program.statements
    for name, array in schedule.program.arrays.items():
        if array.role is not Role.TEMPORARY or not _has_one_reader(schedule.program, name):
            continue
        changed = applied(schedule, (Inline(name),))
        if changed is not None:
            schedule = changed
            steps.append(Inline(name))
    if not steps:
        return schedule, ()
    names = ", ".join(step.array for step in steps)
    reason = f"{names}: computed in the statement that reads it, without a temporary"
    after = schedule.program.statements
    changed_ones = tuple(name for name in after if after[name] is not before[name])
    return schedule, (Decision(tuple(steps), changed_ones, reason),)


def _has_one_reader(program: Program, array: str) -> bool:
    """Whether one other statement reads an array, in the loops of the statements that write it."""
    writers = [one for one in program.statements.values() if one.target.array == array]
    readers = [
        one
        for one in program.statements.values()
        if one not in writers and any(read.array == array for read in one.reads)
    ]
    return len(readers) == 1 and all(one.indices == readers[0].indices for one in writers)
