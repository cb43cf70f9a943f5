"""Simplify a declared kernel: forward temporaries to their readers, remove dead writes."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polysched.dependence.memory import memory_dependences
from polysched.dependence.values import value_flows
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.core.tree import loops
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.simplify.dead_writes import without_dead_writes
from polysched.simplify.fills import with_convex_fills, with_fills_first
from polysched.simplify.forwarding import (
    LARGEST_EXPRESSION,
    Flows,
    ForwardedRead,
    with_forwarded,
)
from polysched.simplify.splitting import split_statements

MOST_STATEMENTS = 60
"""Statements up to which a kernel is simplified; the pairs of their references are analyzed."""
MOST_ROUNDS = 8
"""Rounds of forwarding: the longest chain of temporaries that is forwarded as a whole."""
MOST_PARTS = 4
"""Parts into which one statement is split."""
QUOTA = 1_000_000
"""isl operations for one kernel; the simplification ends when they are spent."""


def simplified(kernel: Kernel) -> Kernel:
    """Return an equivalent kernel without temporaries that only pass values on.

    Every element of a result gets the value of the same operations, in the same order. With
    ``fp_contract`` more products meet the sums into which they may be contracted.
    """
    written = [one.target.array for one in kernel.statements.values()]
    is_written_once = len(set(written)) == len(written)
    temporaries = [one for one in kernel.arrays.values() if one.role is Role.TEMPORARY]
    if len(written) > MOST_STATEMENTS or (is_written_once and not temporaries):
        return kernel
    try:
        with operation_quota(QUOTA):
            for _ in range(MOST_ROUNDS):
                flows = _alive(kernel)
                changed = _forwarded(flows)
                if changed is flows.kernel:
                    return with_convex_fills(with_fills_first(changed, flows.dependences))
                kernel = changed
    except (QuotaExceededError, isl.Error):
        pass
    return kernel


def _flows(kernel: Kernel) -> Flows:
    dependences = tuple(memory_dependences(kernel))
    return Flows(kernel, dependences, value_flows(dependences))


def _alive(kernel: Kernel) -> Flows:
    """The kernel without dead writes, and its flows."""
    flows = _flows(kernel)
    while True:
        alive = without_dead_writes(flows.kernel, flows.dependences, flows.values)
        if alive is flows.kernel:
            return flows
        flows = _flows(alive)


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
    whole = {
        name: [one for one in by_reader[name] if kernel.statements[name].domain <= one.domain]
        for name, own in parts.items()
        if len(own) == 1
    }
    whole = {name: reads for name, reads in whole.items() if reads}
    return with_forwarded(kernel, whole, LARGEST_EXPRESSION) if whole else kernel


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
    """The statements that are alone in a nest and whose instances do not depend on one another."""
    dependent = {
        one.source.statement
        for one in flows.dependences
        if one.source.statement == one.sink.statement
    }
    alone = {loop.statements for loop in loops(flows.kernel.body)}
    return frozenset(
        name for name in flows.kernel.statements if name not in dependent and (name,) in alone
    )
