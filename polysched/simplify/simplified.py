"""Simplify a declared kernel: forward temporaries to their readers, remove dead writes."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import islpy as isl

from polysched.dependence.relations import Dependence
from polysched.errors import ScheduleError
from polysched.ir.core.guards import guarded_names
from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import loops, path
from polysched.simplify.cases import has_cases, with_affine_subscripts
from polysched.simplify.dead_writes import without_dead_writes
from polysched.simplify.fills import with_convex_fills, with_fills_first
from polysched.simplify.forwarding import (
    Flows,
    ForwardedRead,
    flows_of,
    with_forwarded,
    with_statements,
)
from polysched.simplify.splitting import split_statements

MOST_STATEMENTS = 60
"""Statements up to which a kernel is simplified; the pairs of their references are analyzed."""
MOST_ROUNDS = 8
"""Rounds of forwarding: the longest chain of temporaries that is forwarded as a whole."""
MOST_PARTS = 4
"""Parts into which one statement is split."""


def simplified(
    kernel: Kernel, dependences: Iterable[Dependence] | None = None, rounds: int = MOST_ROUNDS
) -> Kernel:
    """Return an equivalent kernel without temporaries that only pass values on.

    Every element of a result gets the value of the same operations, in the same order. With
    ``fp_contract`` more products meet the sums into which they may be contracted. The same kernel
    object is returned if nothing changes.

    Args:
        dependences: the kernel's memory-based dependences, if they are known.
        rounds: of forwarding; each forwards all definitions by one level.
    """
    written = [statement.target.array for statement in kernel.statements.values()]
    is_written_once = len(set(written)) == len(written)
    temporaries = [array for array in kernel.arrays.values() if array.role is Role.TEMPORARY]
    is_plain = is_written_once and not temporaries
    if len(written) > MOST_STATEMENTS or (
        is_plain and not any(map(has_cases, kernel.statements.values()))
    ):
        return kernel
    flows = flows_of(kernel, dependences)
    for _ in range(rounds):
        flows = _alive(flows)
        changed = _forwarded(flows)
        if changed is flows.kernel:
            break
        flows = flows_of(changed)
    split = with_affine_subscripts(flows.kernel, _independent(flows))
    if split is not flows.kernel:
        flows = flows_of(split)
    return with_convex_fills(with_fills_first(flows.kernel, flows.dependences))


def _alive(flows: Flows) -> Flows:
    """The flows of the kernel without dead writes."""
    while True:
        alive = without_dead_writes(flows.kernel, flows.dependences, flows.values)
        if alive is flows.kernel:
            return flows
        flows = flows_of(alive)


def _forwarded(flows: Flows) -> Kernel:
    """The kernel of some flows, with one round of forwarding."""
    kernel = flows.kernel
    by_reader: dict[str, list[ForwardedRead]] = {}
    for read in flows.forwarded():
        by_reader.setdefault(read.reader.statement, []).append(read)
    parts = {name: _parts(kernel, name, reads) for name, reads in by_reader.items()}
    free = _independent(flows)
    split = {
        name: own for name, own in parts.items() if name in free and 1 < len(own) <= MOST_PARTS
    }
    if split:
        return split_statements(kernel, split)
    changed: dict[str, Statement] = {}
    for name, own in parts.items():
        whole = [read for read in by_reader[name] if kernel.statements[name].domain <= read.domain]
        if len(own) == 1 and whole:
            with suppress(ScheduleError):
                changed[name] = with_forwarded(
                    kernel.statements[name], whole, guarded_names(kernel.arrays)
                )
    return with_statements(kernel, changed) if changed else kernel


def _parts(kernel: Kernel, name: str, reads: Iterable[ForwardedRead]) -> tuple[isl.Set, ...]:
    """The parts of a statement's domain in which each read is forwarded from one producer."""
    parts = [kernel.statements[name].domain]
    for read in reads:
        halves = [
            half
            for part in parts
            for half in (part.intersect(read.domain), part.subtract(read.domain))
        ]
        parts = [half.coalesce() for half in halves if not half.is_empty()]
    return tuple(parts)


def _independent(flows: Flows) -> frozenset[str]:
    """The statements that are alone in a nest and whose instances in it are independent."""
    dependent = {
        dependence.source.statement
        for dependence in flows.dependences
        if dependence.source.statement == dependence.sink.statement
        and _is_in_nest(flows.kernel, dependence)
    }
    alone = {loop.statements for loop in loops(flows.kernel.body)}
    return frozenset(
        name for name in flows.kernel.statements if name not in dependent and (name,) in alone
    )


def _is_in_nest(kernel: Kernel, dependence: Dependence) -> bool:
    """Whether a dependence of a statement on itself holds within the nest that is its own.

    The nest runs again in every iteration of the loops that the statement shares with others.
    """
    name, relation = dependence.source.statement, dependence.relation
    for loop in path(kernel.body, name):
        if len(loop.statements) > 1:
            relation = relation.intersect(loop.values[name].eq_map(loop.values[name]))
    return not relation.is_empty()
