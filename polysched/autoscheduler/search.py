"""Search: the recipes' proposals for every nest, ranked by predicted cost."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from polysched.autoscheduler.cost.bound import least_nest_cycles
from polysched.autoscheduler.cost.program import program_costs, shared_facts
from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.forms.candidate import (
    LEAST_GAIN,
    Candidate,
    Decision,
    Proposal,
    Recipe,
    Situation,
)
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import (
    Nest,
    inner_nests,
    loop_value,
    nest_at,
    outer_nests,
    statement_value,
    tree_value,
)
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule

TRIED_PROPOSALS = 24
"""Proposals of one recipe for one nest that are applied and tested; the others are dropped."""
KEPT_PROPOSALS = 2
"""Legal proposals of one recipe for one nest whose cost is predicted."""


@dataclass(frozen=True)
class Context:
    """Inputs and cached decisions that all searches of a call share."""

    machine: Machine
    sizes: Mapping[str, int]
    threads: int
    recipes: tuple[Recipe, ...]
    rebuilt: frozenset[str] = frozenset()
    """The loops that a stage has made around nests, such as tiles; no lanes run across them."""
    answers: dict[Hashable, tuple[Decision, ...]] = field(default_factory=dict)
    """The decisions found for a nest, which several starts have in common."""


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
    key = _key(candidate.schedule.program, nest, context)
    if key in context.answers:
        again = _replayed(candidate, nest, context.answers[key], context)
        if again is not None:
            return again
    best = _searched(candidate, nest, context)
    context.answers[key] = best.decisions[len(candidate.decisions) :]
    return best


def _key(program: Program, nest: Nest, context: Context) -> Hashable:
    """Return all that the search of a nest depends on, compared by value.

    Of the statements outside the nest, these are the caches in which they leave its data, and the
    loops in which they start its sums or make them wait.
    """
    sizes = [cache.bytes for cache in context.machine.near_caches]
    own = [program.statements[name] for name in nest.statements]
    arrays = {access.array for statement in own for access in statement.accesses}
    facts = [shared_facts(program, name, context.sizes) for name in nest.statements]
    left_behind = [
        sum(access.left_behind <= size for size in sizes)
        for statement in facts
        for access in statement.accesses
    ]
    sums = [(statement.target.born_in, statement.waits_in) for statement in facts]
    return (
        tuple(loop_value(loop, nest.statements) for loop in nest.around),
        tree_value(nest.chain[0]),
        tuple(map(statement_value, own)),
        tuple(program.arrays[name] for name in sorted(arrays)),
        tuple(left_behind),
        tuple(sums),
    )


def _replayed(
    candidate: Candidate, nest: Nest, decisions: tuple[Decision, ...], context: Context
) -> Candidate | None:
    """Make decisions that have been found for the same nest of another start."""
    before = candidate.schedule.program.statements
    schedule = applied(
        candidate.schedule, (step for decision in decisions for step in decision.steps)
    )
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
    if not nest.is_perfect and nest.chain[-1].name in context.rebuilt:
        return best
    own = sum(candidate.costs[name].cycles for name in nest.statements)
    elsewhere = candidate.cycles - own
    least = least_nest_cycles(candidate.schedule.program, nest, context.machine, context.sizes)
    for recipe in context.recipes:
        situation = Situation(
            candidate.schedule,
            nest,
            context.machine,
            context.sizes,
            LEAST_GAIN * (best.cycles - elsewhere),
            least,
        )
        if situation.is_best(best.cycles - elsewhere):
            break
        for proposed in _proposed(candidate, situation, recipe, context):
            if proposed.cycles - elsewhere < LEAST_GAIN * (best.cycles - elsewhere):
                best = proposed
    return best


def _proposed(
    candidate: Candidate, situation: Situation, recipe: Recipe, context: Context
) -> list[Candidate]:
    """Return the first legal proposals of a recipe that may gain, as candidates."""
    nest = situation.nest
    kept: list[Candidate] = []
    elsewhere = candidate.cycles - sum(candidate.costs[name].cycles for name in nest.statements)
    for number, proposal in enumerate(recipe(situation)):
        if number == TRIED_PROPOSALS or len(kept) == KEPT_PROPOSALS:
            break
        if not situation.may_gain(proposal.cycles):
            continue
        if kept and proposal.cycles >= kept[0].cycles - elsewhere:
            # The predicted cost is not below the cost of the first legal proposal.
            break
        after = _after(candidate, nest, proposal, context)
        if after is not None:
            kept.append(after)
            if situation.is_best(after.cycles - elsewhere):
                break
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
