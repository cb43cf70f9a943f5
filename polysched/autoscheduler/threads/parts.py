"""Parts of sums: each thread adds up its part of a sum whose order is free.

A loop that carries nothing but such sums is cut into parts. Each part adds to partial results of
its own, which are combined at the end::

    for i: for j: y[j] += A[i][j] * x[i]

    parallel part: for j: y_partial[part][j] = 0
                   for i in part: for j: y_partial[part][j] += A[i][j] * x[i]
    for part: for j: y[j] += y_partial[part][j]
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from polysched.autoscheduler.cost.program import program_costs
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.operations import element_bits
from polysched.autoscheduler.forms.candidate import Candidate, Decision
from polysched.autoscheduler.forms.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.forms.private_arrays import fresh_array
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.threads.costs import scaled, shared_cycles
from polysched.autoscheduler.threads.work import SharedForm, Work
from polysched.ir.core.kernel import Order
from polysched.ir.core.tree import path
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

PARTS_A_THREAD = 2
"""Parts for each thread: the other threads take over parts of a delayed one.

Measured on Zen 4 with the two products of a matrix of 288 MB and its transpose: 2 parts take 10.7
ms, 24 parts 12.6 ms, one thread 19.3 ms.
"""


def parts_of_sums(candidate: Candidate, work: Work, context: Context) -> Iterator[SharedForm]:
    """Yield the nest with the sums that its outermost loop carries cut into parts."""
    parts = PARTS_A_THREAD * context.threads
    if work.trip < 2 * parts or not work.is_worth_regions(context.machine):
        return
    sums = _sums(candidate, work, context)
    if sums:
        cycles = shared_cycles(work.costs, context.threads, parts, work.entries, context.machine)
        yield SharedForm(cycles, lambda: _made(candidate, work, sums, parts, cycles, context))


def _sums(candidate: Candidate, work: Work, context: Context) -> list[str]:
    """Return the statements that add to the same elements in all iterations of a loop.

    A target without a stride depends on data: its partial results hold all its elements.
    """
    program = candidate.schedule.program
    sums = []
    for name in work.statements:
        reduction = program.statements[name].reduction
        if reduction is not None and reduction.order is Order.ANY:
            target = statement_facts(program, name, context.sizes).target
            if not target.stride(work.loop.name) and work.loop.name not in target.born_in:
                sums.append(name)
    return sums


def _made(
    candidate: Candidate, work: Work, sums: list[str], parts: int, cycles: float, context: Context
) -> Candidate | None:
    before = candidate.schedule.program
    top = work.around[0] if work.around else work.loop
    part, inner = fresh_names(before, top, "part", f"{work.loop.name}p")
    first = work.statements[0]
    steps: list[Step] = [Split(work.reference, math.ceil(work.trip / parts), (part, inner))]
    schedule = applied(candidate.schedule, steps)
    for name in sums:
        if schedule is None:
            return None
        array = before.statements[name].target.array
        into = fresh_array(schedule.program, f"{array}_partial")
        steps.append(Rfactor(name, f"{name}.{part}", into))
        schedule = applied(schedule, steps[-1:])
    if schedule is None:
        return None
    added = [name for name in schedule.program.statements if name not in before.statements]
    for name in added:
        vectorized = _vectorized(schedule, name, context)
        if vectorized is not None:
            schedule, step = vectorized
            steps.append(step)
    steps.append(Parallel(f"{first}.{part}"))
    schedule = applied(schedule, steps[-1:])
    if schedule is None:
        return None
    names = (*work.statements, *added)
    if not keeps_order(schedule.program, names) or not keeps_buffers(schedule.program):
        return None
    costs = program_costs(schedule.program, added, context.machine, context.sizes)
    reason = (
        f"{context.threads} threads share {parts} parts of the iterations of {work.loop.name}, "
        f"each with partial results of {', '.join(sums)}"
    )
    return candidate.with_decision(
        schedule,
        Decision(tuple(steps), names, reason),
        {**scaled(candidate.costs, work.statements, cycles), **costs},
    )


def _vectorized(schedule: Schedule, name: str, context: Context) -> tuple[Schedule, Step] | None:
    """Return the schedule with the innermost loop of an added statement in lanes."""
    program = schedule.program
    loop = path(program.tree, name)[-1]
    lanes = context.machine.vector_bits // element_bits(program, program.statements[name])
    facts = statement_facts(program, name, context.sizes)
    if lanes < 2 or facts.loop(loop.name).trip < lanes:
        return None
    step = Vectorize(f"{name}.{loop.name}", lanes)
    changed = applied(schedule, (step,))
    if changed is None or not keeps_order(changed.program, (name,)):
        return None
    return changed, step
