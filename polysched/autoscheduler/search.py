"""Search: the recipes' proposals for every nest, ranked by predicted cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from polysched.autoscheduler.candidate import Candidate, Decision, Proposal, Recipe, Situation
from polysched.autoscheduler.cost import Cost
from polysched.autoscheduler.legal import applied, keeps_order
from polysched.autoscheduler.nests import Nest, inner_nests, nest_at, outer_nests
from polysched.autoscheduler.program_cost import program_costs
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule

TRIED_PROPOSALS = 24
"""Proposals of one recipe for one nest that are applied and tested; the others are dropped."""
KEPT_PROPOSALS = 2
"""Legal proposals of one recipe for one nest whose cost is predicted."""
LEAST_GAIN = 0.97
"""A proposal replaces another only if its nest then takes at most this part of its cycles.

Smaller differences are within the error of the model; the simpler schedule wins.
"""


_Key: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Context:
    """What all searches of a call share."""

    machine: Machine
    sizes: Mapping[str, int]
    threads: int
    recipes: tuple[Recipe, ...]
    answers: dict[_Key, tuple[object, tuple[Decision, ...]]] = field(default_factory=dict)
    """The decisions found for a nest, which several starts have in common.

    The first value keeps the objects alive whose identity is the key.
    """


def start(schedule: Schedule, context: Context) -> Candidate:
    """Return a schedule as a candidate without decisions."""
    statements = tuple(schedule.program.tree.statements)
    return Candidate(schedule, (), _costs(schedule, statements, context))


def searched(candidate: Candidate, context: Context) -> Candidate:
    """Improve every nest of a candidate, one after the other."""
    for nest in outer_nests(candidate.schedule.program.tree):
        candidate = _improved(candidate, nest, context)
    return candidate


def _improved(candidate: Candidate, nest: Nest, context: Context) -> Candidate:
    """Return the best of: the nest as it is, the nests in its body improved, each proposal."""
    program = candidate.schedule.program
    known = (*nest.around, nest.chain[0], *(program.statements[name] for name in nest.statements))
    key = tuple(map(id, known))
    if key in context.answers:
        again = _replayed(candidate, nest, context.answers[key][1], context)
        if again is not None:
            return again
    best = _searched(candidate, nest, context)
    context.answers[key] = (known, best.decisions[len(candidate.decisions) :])
    return best


def _replayed(
    candidate: Candidate, nest: Nest, decisions: tuple[Decision, ...], context: Context
) -> Candidate | None:
    """Make decisions that have been found for the same nest of another start."""
    before = candidate.schedule.program.statements
    schedule = applied(candidate.schedule, (step for one in decisions for step in one.steps))
    if schedule is None:
        return None
    changed = _changed(before, schedule.program.statements, nest)
    kept = {name: cost for name, cost in candidate.costs.items() if name not in changed}
    costs = {**kept, **_costs(schedule, changed, context)}
    return Candidate(schedule, (*candidate.decisions, *decisions), costs)


def _searched(candidate: Candidate, nest: Nest, context: Context) -> Candidate:
    best = candidate
    for inner in inner_nests(nest):
        # An earlier decision may have rebuilt the tree; the nest keeps its statement and depth.
        again = nest_at(best.schedule.program, inner.statements[0], len(inner.around))
        best = _improved(best, again, context)
    own = sum(candidate.costs[name].cycles for name in nest.statements)
    elsewhere = candidate.cycles - own
    for recipe in context.recipes:
        for proposed in _proposed(candidate, nest, recipe, context):
            if proposed.cycles - elsewhere < LEAST_GAIN * (best.cycles - elsewhere):
                best = proposed
    return best


def _proposed(
    candidate: Candidate, nest: Nest, recipe: Recipe, context: Context
) -> list[Candidate]:
    """Return the first legal proposals of a recipe as candidates."""
    situation = Situation(candidate.schedule, nest, context.machine, context.sizes, context.threads)
    kept: list[Candidate] = []
    for number, proposal in enumerate(recipe(situation)):
        if number == TRIED_PROPOSALS or len(kept) == KEPT_PROPOSALS:
            break
        after = _after(candidate, nest, proposal, context)
        if after is not None:
            kept.append(after)
    return kept


def _after(
    candidate: Candidate, nest: Nest, proposal: Proposal, context: Context
) -> Candidate | None:
    """Apply a proposal; None if it does not fit or breaks the order of dependences."""
    schedule = applied(candidate.schedule, proposal.steps)
    if schedule is None:
        return None
    before = candidate.schedule.program
    changed = _changed(before.statements, schedule.program.statements, nest)
    if not keeps_order(schedule.program, changed):
        return None
    kept = {name: cost for name, cost in candidate.costs.items() if name not in changed}
    costs = {**kept, **_costs(schedule, changed, context)}
    decision = Decision(proposal.steps, nest.statements, proposal.reason)
    return candidate.with_decision(schedule, decision, costs)


def _changed(
    before: Mapping[str, object], after: Mapping[str, object], nest: Nest
) -> tuple[str, ...]:
    """Return the statements of a nest after a proposal: its own and those that steps have added."""
    return (*nest.statements, *(name for name in after if name not in before))


def _costs(schedule: Schedule, statements: tuple[str, ...], context: Context) -> dict[str, Cost]:
    return program_costs(schedule.program, statements, context.machine, context.sizes)
