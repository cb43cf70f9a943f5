"""Threads: parallel loops where the cost model predicts that they pay for their regions.

For each nest the stage compares ways to share its work, and takes the cheapest legal one:

- its outermost loop, if the iterations are independent;
- a loop inside it that may be moved outward (:mod:`.moves`);
- the loops inside it, with a parallel region for each run: nests in a time loop;
- a wavefront of tiles, if two loops of the nest carry dependences (:mod:`.wavefronts`);
- parts of a sum whose order is free, each with its own partial results (:mod:`.parts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Candidate
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.search import Context
from polysched.autoscheduler.threads.costs import moved_cycles, share_lines, shared_cycles
from polysched.autoscheduler.threads.cuts import cut_loops
from polysched.autoscheduler.threads.moves import moved_outward
from polysched.autoscheduler.threads.parts import parts_of_sums
from polysched.autoscheduler.threads.wavefronts import wavefronts
from polysched.autoscheduler.threads.work import SharedForm, Work, with_parallel, work_at
from polysched.ir.core.tree import Loop, LoopKind, Node, Sequence, parts
from polysched.schedule.primitives.parallel import Parallel


def with_threads(candidate: Candidate, context: Context) -> Candidate:
    """Make loops parallel where that is legal and predicted to gain."""
    if context.threads == 1 or candidate.cycles < context.machine.costs.threaded_program:
        return candidate
    for nest in tuple(outer_nests(candidate.schedule.program.tree)):
        candidate = _shared(candidate, nest.statements[0], 0, context)
    return candidate


def _shared(
    candidate: Candidate, statement: str, depth: int, context: Context, *, in_chain: bool = False
) -> Candidate:
    """Return the cheapest way to share the loop at a depth around a statement.

    Args:
        in_chain: whether the loop is directly in another one, whose wavefronts include its own.
    """
    work = work_at(candidate, statement, depth, context.sizes)
    costs = context.machine.costs
    if work.cycles < costs.shared_loop or work.loop.kind is not LoopKind.SEQUENTIAL:
        return candidate
    best, most = candidate, candidate.cycles - (1.0 - costs.threaded_part) * work.cycles
    elsewhere = candidate.cycles - work.cycles
    ways = _ways(candidate, work, context, in_chain=in_chain)
    for way in sorted(ways, key=attrgetter("cycles")):
        if elsewhere + way.cycles >= most:
            break
        made = way.made()
        if made is not None and made.cycles < most:
            best, most = made, made.cycles
    return best


def _ways(
    candidate: Candidate, work: Work, context: Context, *, in_chain: bool
) -> Iterator[SharedForm]:
    threads = context.threads
    loop = work.loop
    if loop.prefetches or any(outer.prefetches for outer in work.around):
        return
    if work.is_worth_regions(context.machine) and work.trip >= threads:
        cycles = shared_cycles(work.costs, threads, work.trip, work.entries, context.machine)
        program = candidate.schedule.program
        facts = [statement_facts(program, name, context.sizes) for name in work.statements]
        if share_lines(facts, loop.name, threads, context.machine):
            cycles = math.inf
        written = work.written(program)
        cycles += moved_cycles(facts, work.depth, work.entries, written, threads, context.machine)
        reason = (
            f"{threads} threads share the iterations of {loop.name}: about "
            f"{work.cycles / work.entries:.3g} cycles of work each time"
        )
        steps = (Parallel(work.reference),)
        yield SharedForm(cycles, lambda: with_parallel(candidate, work, steps, reason, cycles))
    if any(_inner_loops(loop.body)):
        yield SharedForm(
            _least_inside(candidate, loop.body, work.depth + 1, context),
            lambda: _inside(candidate, loop.body, work.depth + 1, context),
        )
    yield from parts_of_sums(candidate, work, context)
    yield from cut_loops(candidate, work, context)
    if not in_chain:
        yield from moved_outward(candidate, work, context)
        yield from wavefronts(candidate, work, context)


def _inner_loops(node: Node) -> Iterator[Loop]:
    for child in parts(node):
        if isinstance(child, Loop):
            yield child


def _least_inside(candidate: Candidate, node: Node, depth: int, context: Context) -> float:
    """Return the predicted cycles of a body if all its loops may be parallel or wavefronts."""
    loops = tuple(_inner_loops(node))
    within = {name for loop in loops for name in loop.statements}
    outside = sum(candidate.costs[name].cycles for name in node.statements if name not in within)
    for loop in loops:
        work = work_at(candidate, loop.statements[0], depth, context.sizes)
        outside += work.cycles
        if work.is_worth_regions(context.machine):
            shared = shared_cycles(
                work.costs, context.threads, context.threads, work.entries, context.machine
            )
            outside -= max(0.0, work.cycles - shared)
    return outside


def _inside(candidate: Candidate, body: Node, depth: int, context: Context) -> Candidate:
    """Return the candidate with each loop directly in a body shared in the cheapest way."""
    for loop in _inner_loops(body):
        in_chain = not isinstance(body, Sequence)
        candidate = _shared(candidate, loop.statements[0], depth, context, in_chain=in_chain)
    return candidate
