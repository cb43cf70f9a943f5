"""Column form: each finished element is added to all the sums that need it.

In a triangular recurrence a sum reads elements that the same row has finished before, so its lanes
would wait for each other. With the loop of the terms outside, all sums of a row take one term
together, as soon as it is finished::

    for j: for k < j: s[j] = max(s[j], s[k] + t[k][j])      for k: s[k] = f(s[k])
           s[j] = f(s[j])                               ->         for j > k: s[j] = max(...)

Source: the saxpy form of a triangular solve (Golub and Van Loan, "Matrix Computations").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polysched.autoscheduler.alignment import aligned
from polysched.autoscheduler.candidate import Decision
from polysched.autoscheduler.legal import applied, keeps_order
from polysched.autoscheduler.nests import Nest, inner_nests, outer_nests
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Sequence, loops
from polysched.legality.checks.order import demanded
from polysched.machine.description import Machine
from polysched.schedule.core.program import find_loop
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step


def column_formed(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the schedule in which the loop of the terms is outermost in triangular recurrences."""
    del machine, sizes
    steps: list[Step] = []
    names: list[str] = []
    for nest in tuple(_nests(schedule)):
        rewritten = _column_form(schedule, nest)
        if rewritten is not None:
            schedule = rewritten[0]
            steps += rewritten[1]
            names += nest.statements
    if steps:
        yield (
            schedule,
            Decision(
                tuple(steps),
                tuple(names),
                "all sums of a row take a finished element together, so that lanes can hold them",
            ),
        )


def _nests(schedule: Schedule) -> Iterator[Nest]:
    open_nests = list(outer_nests(schedule.program.tree))
    while open_nests:
        nest = open_nests.pop(0)
        yield nest
        open_nests += inner_nests(nest)


def _column_form(schedule: Schedule, nest: Nest) -> tuple[Schedule, tuple[Step, ...]] | None:
    """Return the schedule with a nest in column form, and the steps; None if it has no such form.

    The nest is a loop over elements. Its body has one loop over terms, and what finishes the
    element after it.
    """
    body = nest.body
    if not isinstance(body, Sequence) or any(
        loop.kind is not LoopKind.SEQUENTIAL or loop.prefetches
        for loop in (*nest.around, *loops(nest.chain[0]))
    ):
        return None
    sums = [at for at, child in enumerate(body.children) if isinstance(child, Loop)]
    if len(sums) != 1 or sums[0] == len(body.children) - 1:
        return None
    terms = body.children[sums[0]]
    if not isinstance(terms, Loop) or not isinstance(terms.body, Leaf):
        return None
    statement, element = terms.body.statement, nest.chain[-1].name
    after = body.children[sums[0] + 1].statements[0]
    separated: list[Step] = []
    if sums[0] > 0:
        last = body.children[sums[0] - 1].statements[-1]
        separated.append(Distribute(nest.reference(element), last))
    separated += [
        Distribute(f"{statement}.{element}", statement),
        Reorder((f"{statement}.{terms.name}", f"{statement}.{element}")),
    ]
    changed = applied(schedule, separated)
    if changed is None:
        return None
    program = changed.program
    members = [
        find_loop(program, f"{statement}.{terms.name}"),
        find_loop(program, f"{after}.{element}"),
    ]
    around = (*nest.around, *nest.chain[:-1])
    alignment = aligned(
        program.statements, demanded(program.dependences), around, (), members, in_order=True
    )
    if alignment is None:
        return None
    references = (f"{statement}.{terms.name}", f"{after}.{element}")
    joined: list[Step] = [
        Shift(reference, amount)
        for reference, amount in zip(references, alignment.shifts, strict=True)
        if amount
    ]
    joined.append(Fuse(*references, terms.name))
    changed = applied(changed, joined)
    if changed is None or not keeps_order(changed.program, nest.statements):
        return None
    return changed, (*separated, *joined)
