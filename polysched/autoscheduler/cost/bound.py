"""Lower bound of the cost of a program under any schedule, as in a roofline model.

Every operation runs and every result is stored, at best in full vectors, and every element of an
argument that exceeds a cache passes into it at least once. No schedule avoids either, so a search
near this bound has little left to find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Set

from polysched.autoscheduler.cost.body import STORE_FACTOR
from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.cost.statement import full_lanes, least_arithmetic, overlapped
from polysched.autoscheduler.cost.traffic import OTHER_LEVELS, footprint, fresh_page_cycles
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.autoscheduler.facts.term_groups import term_groups
from polysched.autoscheduler.forms.nests import Nest, outer_nests
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program


def least_cycles(
    program: Program, machine: Machine, sizes: Mapping[str, int], *, apart: bool = False
) -> float:
    """Return cycles that no schedule of a program is predicted to beat.

    Args:
        apart: whether the bound holds only for schedules that do not fuse nests: each nest then
            has its own traffic, and temporaries between nests pass through memory.
    """
    facts = {name: statement_facts(program, name, sizes) for name in program.tree.statements}
    if not apart:
        return _least(program, facts.values(), frozenset(), machine)
    groups = [[facts[name] for name in nest.statements] for nest in outer_nests(program.tree)]
    users = Counter(
        array
        for group in groups
        for array in {a.array for member in group for a in member.accesses}
    )
    handed_on = frozenset(array for array, count in users.items() if count > 1)
    pages = sum(fresh_page_cycles(statement, machine) for statement in facts.values())
    return pages + sum(_least(program, group, handed_on, machine) for group in groups)


def least_nest_cycles(
    program: Program, nest: Nest, machine: Machine, sizes: Mapping[str, int]
) -> float:
    """Return cycles that no schedule of a nest is predicted to beat, beside the other nests."""
    facts = [shared_facts(program, name, sizes) for name in nest.statements]
    handed_on = frozenset(
        access.array
        for name, statement in program.statements.items()
        if name not in nest.statements
        for access in statement.accesses
    )
    pages = sum(fresh_page_cycles(f, machine) for f in facts if f.target.array in handed_on)
    return pages + _least(program, facts, handed_on, machine)


def _least(
    program: Program, facts: Collection[StatementFacts], handed_on: Set[str], machine: Machine
) -> float:
    """Return the least cycles of statements that may share loops.

    Args:
        handed_on: the temporaries that pass through memory.
    """
    arithmetic = sum(
        least_arithmetic(statement, machine)
        for statement in facts
        if not any(term_groups(program, statement, machine))  # instructions that add several terms
    )
    stores: dict[str, float] = {}
    for statement in facts:
        if statement.target.is_argument or statement.target.array in handed_on:
            vectors = footprint(
                statement.target, statement.loops, statement.target.bytes
            ) / full_lanes(statement, machine)
            stores[statement.target.array] = max(stores.get(statement.target.array, 0.0), vectors)
    stored = STORE_FACTOR * sum(stores.values()) / machine.fma_units
    return overlapped(max(arithmetic, stored), _least_traffic(facts, handed_on, machine))


def _least_traffic(
    facts: Collection[StatementFacts], handed_on: Set[str], machine: Machine
) -> float:
    """Return the cycles in which arrays pass once into the caches that they exceed."""
    cycles = []
    for cache in machine.near_caches:
        lines: dict[str, float] = {}
        for statement in facts:
            for access in statement.accesses:
                is_passed = access.is_argument or access.array in handed_on
                if is_passed and access.left_behind > cache.bytes:
                    touched = footprint(access, statement.loops, cache.line)
                    lines[access.array] = max(lines.get(access.array, 0.0), touched)
        passing = sum(count for count in lines.values() if count * cache.line > cache.bytes)
        cycles.append(passing * machine.costs.line_cycles(cache.level))
    busiest = max(cycles, default=0.0)
    return busiest + OTHER_LEVELS * (sum(cycles) - busiest)
