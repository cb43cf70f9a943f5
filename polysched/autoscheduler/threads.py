"""Threads: the outermost loops whose iterations are independent and have enough work."""

from __future__ import annotations

from polysched.autoscheduler.candidate import Candidate, Decision
from polysched.autoscheduler.cost import Cost
from polysched.autoscheduler.facts import statement_facts
from polysched.autoscheduler.legal import applied
from polysched.autoscheduler.nests import Nest, outer_nests
from polysched.autoscheduler.search import Context
from polysched.ir.core.tree import LoopKind
from polysched.legality.check import check
from polysched.schedule.primitives.parallel import Parallel

LEAST_CYCLES = 400_000.0
"""Predicted cycles of each run of a loop from which threads share it: a tenth of a millisecond.

On a busy machine of two cores, a product of 512 by 512 floats with many shorter runs was slower on
two threads than on one.
"""
SHARED_BOUNDS = ("memory",)
"""Resources that threads share: a nest that waits for memory does not run faster on two."""


def with_threads(candidate: Candidate, context: Context) -> Candidate:
    """Make the outermost legal loop of each nest parallel, where the cost model predicts a gain."""
    if context.threads == 1:
        return candidate
    for nest in tuple(outer_nests(candidate.schedule.program.tree)):
        candidate = _shared(candidate, nest, context)
    return candidate


def _shared(candidate: Candidate, nest: Nest, context: Context) -> Candidate:
    costs = [candidate.costs[name] for name in nest.statements]
    cycles = sum(cost.cycles for cost in costs)
    bound = max(costs, key=lambda cost: cost.cycles).bound
    if cycles < LEAST_CYCLES or bound in SHARED_BOUNDS:
        return candidate
    facts = statement_facts(candidate.schedule.program, nest.statements[0], context.sizes)
    entries = 1.0
    for loop in nest.chain:
        if loop.kind is not LoopKind.SEQUENTIAL or loop.prefetches:
            return candidate
        trip = facts.loop(loop.name).trip
        if trip >= context.threads and cycles / entries >= LEAST_CYCLES:
            step = Parallel(nest.reference(loop.name))
            schedule = applied(candidate.schedule, [step])
            if schedule is not None and check(schedule).is_legal:
                shared = {
                    name: _divided(candidate.costs[name], min(trip, context.threads))
                    for name in nest.statements
                }
                reason = (
                    f"{context.threads} threads share the iterations of {loop.name}: about "
                    f"{cycles / entries:.3g} cycles of work each time"
                )
                decision = Decision((step,), nest.statements, reason)
                return candidate.with_decision(schedule, decision, {**candidate.costs, **shared})
        entries *= max(1.0, trip)
    return candidate


def _divided(cost: Cost, threads: float) -> Cost:
    return Cost(cost.cycles / threads, cost.compute / threads, cost.memory, cost.bound)
