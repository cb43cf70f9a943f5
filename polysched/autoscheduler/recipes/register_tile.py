"""Vectorize a perfect nest, with a register tile of unrolled copies around its innermost loop."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import chain, combinations, islice, product

from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.cost.statement import Cost, core_cost, with_traffic
from polysched.autoscheduler.facts.statement import LoopFacts, StatementFacts
from polysched.autoscheduler.facts.term_groups import TermGroup, term_groups
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.recipes.plan import Plan
from polysched.ir.core.tree import LoopKind
from polysched.schedule.primitives.vectorize import LARGEST_LANES

FACTORS = (2, 4, 8)
"""Iterations of a loop that may be unrolled and jammed."""
LARGEST_WRITTEN_OUT = 16
"""Iterations of a loop that may be written out without a loop around them."""
VECTORS = (1, 2, 3, 4)
"""Vectors that may stand side by side."""
COPY_COST = 0.03
"""A plan with twice the code must save this part of the cycles.

Code takes time to compile, and its remainders run slower than the model assumes. A stencil of 100
cubed floats with 32 copies took as long as with 4, and ten times as long to compile.
"""
LARGEST_TILE = 32
"""Most copies of a statement in one tile: more exceed the registers, and compile slowly."""
LARGEST_WEIGHT = 1.0 + COPY_COST * math.log2(LARGEST_TILE)
"""The factor by which the copies of the largest tile count."""
REFINED_PLANS = 6
"""Plans without unrolling for which all register tiles are compared."""
LARGEST_NEST = 5
"""Loops of a nest whose orders are all compared; deeper nests keep their outer order."""


def register_tile(situation: Situation) -> Iterator[Proposal]:
    """Propose vector loops, loop orders and register tiles, the cheapest first."""
    facts = _facts(situation)
    if facts is None:
        return
    chain = [loop.name for loop in situation.nest.chain]
    plans = _simple_plans(chain, _lanes(situation, facts), facts)
    yield from _proposals(situation, facts, plans)


def instruction_tile(situation: Situation) -> Iterator[Proposal]:
    """Propose register tiles in which one instruction adds a whole loop of terms to each lane."""
    facts = _facts(situation)
    if facts is None:
        return
    chain = [loop.name for loop in situation.nest.chain]
    for group in term_groups(situation.schedule.program, facts, situation.machine):
        if group.loop in chain and facts.loop(group.loop).trip == group.form.terms:
            rest = [loop for loop in chain if loop != group.loop]
            grouped = facts.grouped(group.loop, group.form)
            plans = _simple_plans(rest, group.form.lanes, grouped)
            yield from _proposals(
                situation,
                grouped,
                (replace(plan, group=group) for plan in plans if _runs_group(plan, group, facts)),
            )


def _runs_group(plan: Plan, group: TermGroup, facts: StatementFacts) -> bool:
    return plan.lanes == group.form.lanes and group.fits_lanes(facts, plan.vector)


def _proposals(
    situation: Situation, facts: StatementFacts, plans: Iterable[Plan]
) -> Iterator[Proposal]:
    """Yield the register tiles of the best plans, the cheapest first.

    A plan at the lower bound of the nest comes before all tiles.
    """
    simple = list(islice(_ranked(situation, facts, plans), REFINED_PLANS))
    best = simple[:1] if simple and situation.is_best(simple[0][0].cycles) else []
    tiled = (tile for _, plan in simple for tile in _tiled_plans(plan, facts))
    seen: set[tuple[object, ...]] = set()
    for cost, plan in chain(best, _ranked(situation, facts, tiled)):
        if not situation.may_gain(cost.cycles * _weight(plan) / LARGEST_WEIGHT):
            return
        # Plans that differ only in factors keep or break the same order: one of each is enough.
        kind = (plan.order, plan.vector, tuple(loop for loop, _ in plan.jammed))
        if kind not in seen:
            seen.add(kind)
            yield Proposal(plan.steps(situation), _reason(plan, cost), cost.cycles)


def innermost_lanes(situation: Situation) -> Iterator[Proposal]:
    """Propose to vectorize the innermost loop of a nest as it is written."""
    facts = _facts(situation)
    if facts is None:
        return
    chain = tuple(loop.name for loop in situation.nest.chain)
    plan = Plan(chain, chain[-1], _lanes(situation, facts))
    yield Proposal(plan.steps(situation), "the innermost loop as written runs on vectors")


def _facts(situation: Situation) -> StatementFacts | None:
    """Return the facts of the nest's only statement; None if the nest has more, or is scheduled."""
    nest = situation.nest
    kinds = {loop.kind for loop in nest.chain} | {loop.kind for loop in nest.around}
    is_fresh = all(loop.is_plain for loop in nest.chain)
    if not nest.is_perfect or not is_fresh or LoopKind.VECTOR in kinds:
        return None
    return shared_facts(situation.schedule.program, nest.statements[0], situation.sizes)


def _lanes(situation: Situation, facts: StatementFacts) -> int:
    return min(LARGEST_LANES, situation.machine.vector_bits // facts.element_bits)


def _fitting(lanes: int, trip: float) -> int:
    """Return fewer lanes for a loop that is shorter than a vector, so that none stays idle."""
    while lanes >= 2 * trip and lanes > 2:
        lanes //= 2
    return lanes


def _simple_plans(chain: list[str], lanes: int, facts: StatementFacts) -> Iterator[Plan]:
    """Yield the plans without unrolling: each vector loop, each innermost loop."""
    starts = tuple((loop.name, loop.start) for loop in facts.loops if loop.start)
    for vector in chain:
        if facts.reads_target and facts.target.stride(vector) == 0:
            continue  # lanes would update one element; partial sums are another recipe
        width = _fitting(lanes, facts.loop(vector).trip)
        for innermost in reversed(chain):
            loop = facts.loop(innermost)
            if loop.trip == 1 and not loop.is_constant and innermost != chain[-1]:
                continue  # tiles of a size that happens to fit one tile
            rest = [name for name in chain if name != innermost]
            yield Plan((*rest, innermost), vector, width, starts=starts)
            if len(chain) <= LARGEST_NEST:
                by_stride = sorted(rest, key=lambda name: -_reach(facts, name))
                if by_stride != rest:
                    yield Plan((*by_stride, innermost), vector, width, starts=starts)


def _reach(facts: StatementFacts, loop: str) -> int:
    """Return the sum of the strides along a loop: loops with small ones belong inside."""
    return sum(abs(access.stride(loop) or 0) for access in facts.accesses)


def _tiled_plans(plan: Plan, facts: StatementFacts) -> Iterator[Plan]:
    remaining = [name for name in plan.order if name != plan.vector]
    for vectors in VECTORS:
        for count in range(min(2, len(remaining)) + 1):
            for loops in combinations(remaining, count):
                for factors in product(*(_factors(facts.loop(loop)) for loop in loops)):
                    copies = vectors
                    for factor in factors:
                        copies *= factor
                    fits = all(
                        factor <= facts.loop(loop).trip
                        for loop, factor in zip(loops, factors, strict=True)
                    )
                    if copies <= LARGEST_TILE and fits:
                        jammed = tuple(zip(loops, factors, strict=True))
                        yield replace(plan, vectors=vectors, jammed=jammed)


def _factors(loop: LoopFacts) -> tuple[int, ...]:
    """Return how many iterations of a loop may be jammed: all of them if there are few."""
    if loop.trip <= LARGEST_WRITTEN_OUT and loop.trip not in FACTORS and loop.trip > 1:
        return (*FACTORS, int(loop.trip))
    return FACTORS


def _ranked(
    situation: Situation, facts: StatementFacts, plans: Iterable[Plan]
) -> Iterator[tuple[Cost, Plan]]:
    """Yield plans with their costs, the cheapest first; the first of equals stays first.

    Few plans are looked at. So a plan waits with a lower bound until no other plan is cheaper: the
    bound of the nest, then its cost in the core, then the cost with the traffic.
    """
    machine = situation.machine
    waiting: list[tuple[float, int, int, Plan, StatementFacts, Cost]] = []
    for number, plan in enumerate(plans):
        least = situation.least_cycles * _weight(plan)
        waiting.append((least, 0, number, plan, facts, Cost(least)))
    heapify(waiting)
    while waiting:
        least, stage, number, plan, after, cost = heappop(waiting)
        if stage == 2:
            yield cost, plan
            continue
        if stage == 0:
            after = plan.facts(facts)
            cost = core_cost(after, machine)
        else:
            cost = with_traffic(cost, after, machine)
        waits = max(least, cost.cycles * _weight(plan))
        heappush(waiting, (waits, stage + 1, number, plan, after, cost))


def _weight(plan: Plan) -> float:
    copies = plan.vectors * math.prod(factor for _, factor in plan.jammed)
    return 1.0 + COPY_COST * math.log2(copies)


def _reason(plan: Plan, cost: Cost) -> str:
    tile = "".join(f" by {factor} of {loop}" for loop, factor in plan.jammed)
    width = f"{plan.vectors} vectors" if plan.vectors > 1 else "one vector"
    by = f", each by {plan.group.form.name} along {plan.group.loop}" if plan.group else ""
    return (
        f"{width} of {plan.lanes} lanes along {plan.vector}{tile}{by}; loop order "
        f"{', '.join(plan.order)}; registers that hold values across the innermost "
        f"loop: {cost.registers}; predicted {cost.cycles:.3g} cycles, bound by {cost.bound}"
    )
