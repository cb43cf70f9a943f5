"""Lower bound of the cost of a program under any schedule, as in a roofline model.

Every operation runs, at best in full vectors, and every element of an argument that exceeds a cache
passes into it at least once. No schedule avoids either, so a search near this bound has little left
to find.
"""

from __future__ import annotations

from collections.abc import Mapping

from polysched.autoscheduler.cost import least_arithmetic, overlapped
from polysched.autoscheduler.facts import StatementFacts
from polysched.autoscheduler.statement_facts import statement_facts
from polysched.autoscheduler.traffic import OTHER_LEVELS, footprint
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program


def least_cycles(program: Program, machine: Machine, sizes: Mapping[str, int]) -> float:
    """Return cycles that no schedule of a program is predicted to beat."""
    facts = [statement_facts(program, name, sizes) for name in program.tree.statements]
    compute = sum(least_arithmetic(one, machine) for one in facts)
    return overlapped(compute, _least_traffic(facts, machine))


def _least_traffic(facts: list[StatementFacts], machine: Machine) -> float:
    """Return the cycles in which the arguments pass once into the caches that they exceed."""
    cycles = []
    for cache in machine.caches:
        lines: dict[str, float] = {}
        for statement in facts:
            for access in statement.accesses:
                if access.is_argument:
                    touched = footprint(access, statement.loops, cache.line)
                    lines[access.array] = max(lines.get(access.array, 0.0), touched)
        passing = sum(one for one in lines.values() if one * cache.line > cache.bytes)
        cycles.append(passing * machine.costs.line_cycles(cache.level))
    busiest = max(cycles, default=0.0)
    return busiest + OTHER_LEVELS * (sum(cycles) - busiest)
