"""Parallel loops moved outward: one region instead of one for each iteration of the loops around.

A loop with independent iterations may stand inside loops that carry dependences::

    for k: parallel j: for i: S      ->      parallel j: for k: for i: S

A thread then keeps its part of the data in its own caches from one iteration of ``k`` to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Candidate
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.threads.costs import share_lines, shared_cycles
from polysched.autoscheduler.threads.work import SharedForm, Work, with_parallel
from polysched.ir.core.tree import Loop
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder


def moved_outward(candidate: Candidate, work: Work, context: Context) -> Iterator[SharedForm]:
    """Yield the nest with a loop of its chain moved outside the others, and parallel."""
    if not work.is_worth_regions(context.machine):
        return
    for position, loop in enumerate(work.chain()):
        if not loop.is_plain:
            return
        trip = work.loop_facts(loop).trip
        if position > 0 and trip >= context.threads:
            around = work.chain()[:position]
            cycles = shared_cycles(work.costs, context.threads, trip, work.entries, context.machine)
            made = partial(_made, candidate, work, loop, around, cycles, context)
            yield SharedForm(cycles, made)


def _made(
    candidate: Candidate,
    work: Work,
    loop: Loop,
    around: tuple[Loop, ...],
    cycles: float,
    context: Context,
) -> Candidate | None:
    """Return the candidate with a loop moved outside those around it; None if it is not legal."""
    first = work.statements[0]
    moved = f"{first}.{loop.name}"
    steps = (Reorder((moved, *(f"{first}.{loop.name}" for loop in around))), Parallel(moved))
    schedule = applied(candidate.schedule, steps)
    if schedule is None:
        return None
    program = schedule.program
    facts = [statement_facts(program, name, context.sizes) for name in work.statements]
    if share_lines(facts, loop.name, context.threads, context.machine):
        return None
    costs = program_costs(program, work.statements, context.machine, context.sizes)
    cycles *= max(1.0, sum(cost.cycles for cost in costs.values()) / work.cycles)
    reason = (
        f"{context.threads} threads share the iterations of {loop.name}, which runs outside "
        f"{', '.join(loop.name for loop in around)}: one region instead of many"
    )
    return with_parallel(candidate, work, steps, reason, cycles)
