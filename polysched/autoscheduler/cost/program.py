"""Costs of the statements of a program, each with the data that others leave in caches for it.

Statements that share loops share data. In the same loops, a value is loaded once for all of them.
In the same iteration of a common outer loop, a later statement finds what an earlier one has used
in the cache that holds all that runs in between::

    for io: for ii, j: t[i] += A[i][j] * x[j]     brings eight rows of A from memory
            for ii, j: y[j] += A[i][j] * t[i]     finds them in the second-level cache
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

from polysched.autoscheduler.cost.body import ISSUE_WIDTH
from polysched.autoscheduler.cost.carried_chains import carried_chain
from polysched.autoscheduler.cost.statement import Cost, statement_cost
from polysched.autoscheduler.cost.sum_starts import with_sum_starts
from polysched.autoscheduler.cost.traffic import footprint
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import (
    FARTHEST_INTERLEAVED,
    AccessFacts,
    StatementFacts,
)
from polysched.ir.core.tree import Loop, LoopKind, path
from polysched.ir.isl.shared_results import remembered
from polysched.machine.description import Machine
from polysched.schedule.core.program import Program

SAME_SIZE = 1.25
"""Footprints that differ by less than this factor are taken for the same data."""
LINE = 64
"""Bytes of a cache line, for the comparison of footprints."""


def program_costs(
    program: Program, statements: Iterable[str], machine: Machine, sizes: Mapping[str, int]
) -> dict[str, Cost]:
    """Predict the cost of each of some statements of a program."""
    known: dict[str, StatementFacts] = {}
    shared = cache(lambda name: _shared_facts(program, name, sizes, known))
    costs = {
        name: statement_cost(
            shared(name), machine, [shared(other) for other in _beside(program, name)]
        )
        for name in statements
    }
    nests: dict[Loop, list[str]] = {}
    for name in costs:
        for outermost in path(program.tree, name)[:1]:
            nests.setdefault(outermost, []).append(name)
    for names in nests.values():
        around = path(program.tree, names[0])
        common = min(_common(program, around, name) for name in names)
        visits = math.prod(
            max(1.0, loop.trip)
            for loop in shared(names[0]).loops[:common]
            if loop.kind.is_loop_in_code
        )
        ahead = visits * machine.costs.instructions_in_flight / ISSUE_WIDTH
        costs.update(_with_overlap({name: costs[name] for name in names}, ahead))
    return costs


def _with_overlap(costs: Mapping[str, Cost], ahead: float) -> dict[str, Cost]:
    """Return the costs of statements in common loops, where some compute while others wait.

    While lines of one statement arrive, the processor looks ahead to the others::

        for i: for j: s += A[i][j]    waits for the cache
               y[i] = f(s)            runs while the next row arrives

    Args:
        ahead: the cycles for which the processor looks ahead, in all iterations.
    """
    idle = sum(max(0.0, cost.memory - cost.compute) for cost in costs.values())
    computing = sum(cost.compute for cost in costs.values() if cost.compute >= cost.memory)
    hidden = min(idle, computing, ahead)
    if hidden == 0.0:
        return {}
    return {
        name: replace(cost, cycles=cost.cycles - hidden * cost.compute / computing)
        for name, cost in costs.items()
        if cost.compute >= cost.memory
    }


def _beside(program: Program, name: str) -> list[str]:
    """Return the statements that come before a statement in the same loops."""
    around = path(program.tree, name)
    if not around:
        return []
    below = around[-1].statements
    return [
        other
        for other in below[: below.index(name)]
        if len(path(program.tree, other)) == len(around)
    ]


def shared_facts(program: Program, name: str, sizes: Mapping[str, int]) -> StatementFacts:
    """Derive the facts of a statement, with the data that earlier statements leave in caches.

    A read that one of them has already loaded in the same loops is left out.
    """
    return _shared_facts(program, name, sizes, {})


def _shared_facts(
    program: Program, name: str, sizes: Mapping[str, int], known: dict[str, StatementFacts]
) -> StatementFacts:
    around = path(program.tree, name)
    if not around:
        return _facts_of(program, name, sizes, known)
    together = around[0].statements
    earlier = together[: together.index(name)]
    facts = _facts_of(program, name, sizes, known)
    if facts.reads_target:
        others = [
            (_facts_of(program, other, sizes, known), _common(program, around, other))
            for other in together
            if other != name
        ]
        facts = with_sum_starts(facts, others[: len(earlier)], others[len(earlier) :])
    read: list[AccessFacts] = []
    found = list(facts.accesses)
    for other in earlier:
        common = _common(program, around, other)
        theirs = _facts_of(program, other, sizes, known)
        if common == len(facts.loops) == len(theirs.loops):
            read += theirs.accesses
            found = [_after(access, theirs.accesses) for access in found]
            continue
        between = together[together.index(other) : together.index(name) + 1]
        found = _found_in_caches(
            found, facts, theirs, common, [_facts_of(program, b, sizes, known) for b in between]
        )
    own = [
        access
        for access in found[1:]
        if (access.runs_with(facts.target) and access.offset == facts.target.offset)
        or not any(
            access.runs_with(earlier) and access.offset == earlier.offset for earlier in read
        )
    ]
    beside = [
        statement
        for statement in around[-1].statements
        if len(path(program.tree, statement)) == len(around)
    ]
    in_body = [_facts_of(program, other, sizes, known) for other in beside]
    is_joined = _fills_vectors(found[0], around, [other.target for other in in_body])
    target = replace(found[0], is_joined=is_joined)
    carried = carried_chain(beside.index(name), in_body)
    return replace(facts, accesses=(target, *own), carried=carried)


def _common(program: Program, around: Sequence[Loop], other: str) -> int:
    """Return the number of loops that another statement shares."""
    return sum(a is b for a, b in zip(around, path(program.tree, other), strict=False))


def _fills_vectors(
    target: AccessFacts, around: Sequence[Loop], targets: Sequence[AccessFacts]
) -> bool:
    """Whether statements in the same loops write all elements between the lanes of a target."""
    lanes = [target.stride(loop.name) for loop in around if loop.kind is LoopKind.VECTOR]
    step = lanes[0] if len(lanes) == 1 else None
    if step is None or not target.bytes < step <= FARTHEST_INTERLEAVED * target.bytes:
        return False
    start = target.offset - target.offset % step
    found = {other.offset for other in targets if other.runs_with(target)}
    return any(
        set(range(first, first + step, target.bytes)) <= found
        for first in range(start - step + target.bytes, target.offset + 1, target.bytes)
        if first <= target.offset < first + step
    )


def _after(access: AccessFacts, earlier: Sequence[AccessFacts]) -> AccessFacts:
    """Return an access of which an earlier one in the same loops has brought the cache lines."""
    is_near = any(
        access.runs_with(other) and abs(access.offset - other.offset) < LINE for other in earlier
    )
    return replace(access, left_behind=0.0) if is_near else access


def _facts_of(
    program: Program, name: str, sizes: Mapping[str, int], known: dict[str, StatementFacts]
) -> StatementFacts:
    if name not in known:
        known[name] = statement_facts(program, name, sizes)
    return known[name]


def _found_in_caches(
    accesses: Sequence[AccessFacts],
    facts: StatementFacts,
    earlier: StatementFacts,
    common: int,
    between: Sequence[StatementFacts],
) -> list[AccessFacts]:
    """Return accesses with the size of the cache that holds what an earlier statement has used.

    Args:
        accesses: the accesses of the statement so far.
        facts: the statement.
        common: the loops that both share.
        between: the statements from the earlier one to this one.
    """
    held = _bytes(between, common)
    return [
        replace(access, left_behind=min(held, access.left_behind))
        if any(_uses_same(access, facts, other, earlier, common) for other in earlier.accesses)
        else access
        for access in accesses
    ]


def _uses_same(
    access: AccessFacts,
    facts: StatementFacts,
    other: AccessFacts,
    earlier: StatementFacts,
    common: int,
) -> bool:
    """Whether two accesses use the same elements in one iteration of their common loops."""
    outer = facts.loops[:common]
    if access.array != other.array or any(
        access.stride(loop.name) != other.stride(loop.name) for loop in outer
    ):
        return False
    lines = footprint(access, facts.loops[common:], LINE)
    return lines <= SAME_SIZE * footprint(other, earlier.loops[common:], LINE)


def _bytes(statements: Sequence[StatementFacts], common: int) -> float:
    """Return the bytes that statements touch in one iteration of the loops that they share."""
    lines: dict[str, float] = {}
    for facts in statements:
        for array, touched in remembered(partial(_lines, facts, common), _lines, (facts,), common):
            lines[array] = max(lines.get(array, 0.0), touched)
    return LINE * sum(lines.values())


def _lines(facts: StatementFacts, common: int) -> tuple[tuple[str, float], ...]:
    """Return the cache lines that each access touches in one iteration of the common loops."""
    inside = facts.loops[common:]
    return tuple((access.array, footprint(access, inside, LINE)) for access in facts.accesses)
