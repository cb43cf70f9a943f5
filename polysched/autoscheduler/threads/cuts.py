"""Loops cut where they meet the value of a loop around them: the threads share each part.

In all shortest paths, step ``k`` reads row ``k``, which the same step also updates. So the rows are
not independent, but those before row ``k`` are, and those after it::

    for k: for i: S(k, i)      for k: parallel i < k: S(k, i); S(k, k); parallel i > k: S(k, i)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Candidate
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.proof import keeps_full_tiles
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.threads.costs import share_lines, shared_cycles
from polysched.autoscheduler.threads.work import SharedForm, Work, with_parallel
from polysched.ir.core.tree import Loop, LoopKind
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split

FAR = 2**20
"""Distance between the cuts of a loop. A longer loop is cut more often, which is legal too."""
PARTS = 3
"""Runs of the loop for each of the loop around it: before, at and after its value."""


def cut_loops(candidate: Candidate, work: Work, context: Context) -> Iterator[SharedForm]:
    """Yield the nest with its loop cut at the value of each loop around it that runs as far."""
    if work.cycles / work.entries < (PARTS - 1) * context.machine.costs.shared_loop:
        return
    facts = [
        statement_facts(candidate.schedule.program, name, context.sizes) for name in work.statements
    ]
    if share_lines(facts, work.loop.name, context.threads, context.machine):
        return
    own = work.loop_facts(work.loop)
    for around in work.around:
        outer = work.loop_facts(around)
        is_alike = (outer.trip, outer.start, outer.stride) == (own.trip, own.start, 1)
        if is_alike and around.kind is LoopKind.SEQUENTIAL:
            trip, regions = own.trip / (PARTS - 1), PARTS * work.entries
            cycles = shared_cycles(work.costs, context.threads, trip, regions, context.machine)
            yield SharedForm(cycles, partial(_made, candidate, work, around, cycles, context))


def _made(
    candidate: Candidate, work: Work, around: Loop, cycles: float, context: Context
) -> Candidate | None:
    """Return the candidate with the loop cut and its parts parallel; None if that is not legal."""
    name = work.loop.name
    wanted = (f"{name}c", f"{name}a", f"{name}b", f"{name}d", f"{name}p")
    fresh = fresh_names(candidate.schedule.program, work.around[0], *wanted)
    cut, _, rest, _, part = (f"{work.statements[0]}.{name}" for name in fresh)
    steps = (
        Skew(work.reference, work.reference_to(around), -1, fresh[0]),
        Split(cut, FAR, (fresh[1], fresh[2])),
        Shift(rest, -1),
        Split(rest, FAR, (fresh[3], fresh[4])),
        Parallel(part),
    )
    reason = (
        f"{context.threads} threads share the iterations of {name} before and after the value of "
        f"{around.name}, at which a step depends on itself"
    )
    made = with_parallel(candidate, work, steps, reason, cycles)
    if made is None or not keeps_full_tiles(candidate.schedule, made.schedule):
        return None
    return made
