"""Column form: each finished element is added to all the sums that need it.

In a triangular recurrence a sum reads elements that the same row has finished before, so its lanes
would wait for each other. With the loop of the terms outside, all sums of a row take one term
together, as soon as it is finished::

    for j: for k < j: s[j] = max(s[j], s[k] + t[k][j])      for k: s[k] = f(s[k])
           s[j] = f(s[j])                               ->         for j > k: s[j] = max(...)

With tiles of elements, the terms of one tile are added before the next tile begins. Rows and tiles
then form a wavefront, whose tiles threads share.

Source: the saxpy form of a triangular solve (Golub and Van Loan, "Matrix Computations").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polysched.autoscheduler.forms.alignment import aligned
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import Nest, fresh_names, inner_nests, outer_nests
from polysched.ir.core.tree import Leaf, Loop, Sequence
from polysched.legality.checks.order import demanded
from polysched.machine.description import Machine
from polysched.schedule.core.program import find_loop
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

TILE = 64
"""Elements of a tile.

Measured on Zen 4 with two tables of intervals: on one thread tiles take 1.4 times as long, on two
threads 64 elements are 1.24 and 1.30 times as fast as one thread without tiles, 128 elements 1.29
and 1.07, 256 elements 1.5 and 1.04, as too few tiles lie on a diagonal.
"""


def column_formed(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the schedule in which the loop of the terms is outermost in triangular recurrences."""
    del machine, sizes
    yield from _formed(schedule, 0)


def column_tiled(
    schedule: Schedule, machine: Machine, sizes: Mapping[str, int]
) -> Iterator[tuple[Schedule, Decision]]:
    """Yield the same with tiles of elements around that loop, for threads."""
    del machine, sizes
    yield from _formed(schedule, TILE)


def _formed(schedule: Schedule, tile: int) -> Iterator[tuple[Schedule, Decision]]:
    steps: list[Step] = []
    names: list[str] = []
    for nest in tuple(_nests(schedule)):
        rewritten = _column_form(schedule, nest, tile)
        if rewritten is not None:
            schedule = rewritten[0]
            steps += rewritten[1]
            names += nest.statements
    if steps:
        reason = "all sums of a row take a finished element together, so that lanes can hold them"
        tiles = f", in tiles of {tile} elements" if tile else ""
        yield schedule, Decision(tuple(steps), tuple(names), reason + tiles)


def _nests(schedule: Schedule) -> Iterator[Nest]:
    open_nests = list(outer_nests(schedule.program.tree))
    while open_nests:
        nest = open_nests.pop(0)
        yield nest
        open_nests += inner_nests(nest)


def _column_form(
    schedule: Schedule, nest: Nest, tile: int
) -> tuple[Schedule, tuple[Step, ...]] | None:
    """Return the schedule with a nest in column form, and the steps; None if it has no such form.

    The nest is a loop over elements. Its body has one loop over terms, and what finishes the
    element after it.
    """
    body = nest.body
    if not (isinstance(body, Sequence) and nest.is_plain):
        return None
    loops_at = [at for at, child in enumerate(body.children) if isinstance(child, Loop)]
    if len(loops_at) != 1 or loops_at[0] == len(body.children) - 1:
        return None
    terms = body.children[loops_at[0]]
    if not isinstance(terms, Loop) or not isinstance(terms.body, Leaf):
        return None
    statement, element = terms.body.statement, nest.chain[-1].name
    after = body.children[loops_at[0] + 1].statements[0]
    separated: list[Step] = []
    if loops_at[0] > 0:
        last = body.children[loops_at[0] - 1].statements[-1]
        separated.append(Distribute(nest.reference(element), last))
    separated.append(Distribute(f"{statement}.{element}", statement))
    sums, finish = f"{statement}.{element}", f"{after}.{element}"
    tiled: tuple[str, ...] = ()
    if tile:
        around, point = fresh_names(schedule.program, nest.chain[0], f"{element}t", f"{element}p")
        tiled = (f"{statement}.{around}",)
        separated += [Split(loop, tile, (around, point)) for loop in (sums, finish)]
        sums, finish = f"{statement}.{point}", f"{after}.{point}"
    separated.append(Reorder((*tiled, f"{statement}.{terms.name}", sums)))
    if tile:
        separated += [
            Fuse(f"{statement}.{around}", f"{after}.{around}"),
            Skew(finish, f"{after}.{around}", tile),
        ]
    changed = applied(schedule, separated)
    if changed is None:
        return None
    program = changed.program
    references = (f"{statement}.{terms.name}", finish)
    members = [find_loop(program, reference) for reference in references]
    outside = (*nest.around, *nest.chain[:-1], *(find_loop(program, loop) for loop in tiled))
    alignment = aligned(
        program.statements, demanded(program.dependences), outside, (), members, in_order=True
    )
    if alignment is None:
        return None
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
