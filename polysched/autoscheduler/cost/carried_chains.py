"""Chains of dependent operations through several statements, from one iteration to the next.

A filter hands its state on in scalars, an alignment its scores in memory::

    for i: now = b*x[i] + a*last        waits for the ``last`` of the iteration before
           last = now
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polysched.autoscheduler.facts.statement import CarriedChain, StatementFacts
from polysched.ir.core.tree import LoopKind

MOST_OPERATIONS = 2
"""Operations of a statement that depend on one another, at most; others run beside them."""
MOST_STATEMENTS = 24
"""Statements in the same loops among which chains are looked for."""


@dataclass(frozen=True)
class _Flow:
    """A value that one statement writes and another reads some iterations later."""

    writer: int
    reader: int
    distance: int
    is_in_memory: bool


def carried_chain(at: int, together: Sequence[StatementFacts]) -> CarriedChain | None:
    """Return the longest chain that begins and ends at a statement and runs through others.

    It runs from one iteration of the innermost loop, or of a loop that is written out inside of it,
    to a later one.

    Args:
        at: the position of the statement.
        together: the statements in the same loops, in order.
    """
    loops = together[at].loops
    inner = [number for number, loop in enumerate(loops) if loop.kind.is_loop_in_code]
    if not inner or not 1 < len(together) <= MOST_STATEMENTS:
        return None
    found: list[tuple[float, CarriedChain]] = []
    for loop in loops[inner[-1] :]:
        if loop.kind is LoopKind.VECTOR:
            continue
        flows = list(_flows(together[: at + 1], together, loop.name))
        for flow in flows:
            if flow.writer == at and flow.distance and flow.reader < at:
                path = _longest_path(flow, at, together, flows, loop.name)
                if path is not None:
                    links = 1.0 if loop.kind.is_loop_in_code else loop.trip
                    found.append(((path.operations + path.stores) * links / path.distance, path))
    return max(found, key=lambda entry: entry[0])[1] if found else None


def _flows(
    readers: Sequence[StatementFacts], together: Sequence[StatementFacts], loop: str
) -> Iterator[_Flow]:
    for reader, facts in enumerate(readers):
        for access in facts.accesses[1:]:
            step = access.stride(loop)
            writers = [
                at for at, statement in enumerate(together) if access.runs_with(statement.target)
            ]
            if step is None or not writers or loop in access.born_in:
                continue
            if step == 0:
                same = [at for at in writers if together[at].target.offset == access.offset]
                before = [at for at in same if at < reader]
                if same:
                    yield _Flow((before or same)[-1], reader, 0 if before else 1, False)
                continue
            for writer in writers:
                apart = together[writer].target.offset - access.offset
                distance, rest = divmod(apart, step * facts.loop(loop).stride)
                if rest == 0 and (distance > 0 or (distance == 0 and writer < reader)):
                    yield _Flow(writer, reader, distance, True)


def _longest_path(
    begin: _Flow, end: int, together: Sequence[StatementFacts], flows: Sequence[_Flow], loop: str
) -> CarriedChain | None:
    """Return the longest chain within one iteration, from the reader of a value to a statement."""
    longest = {begin.reader: _operations(together[begin.reader])}
    for at in range(begin.reader + 1, end + 1):
        # A value that is read in the iteration that makes it stays in a register.
        before = [
            longest[flow.writer]
            for flow in flows
            if flow.reader == at and flow.distance == 0 and flow.writer in longest
        ]
        if before:
            longest[at] = max(before) + _operations(together[at])
    if end not in longest:
        return None
    return CarriedChain(longest[end], int(begin.is_in_memory), begin.distance, loop)


def _operations(facts: StatementFacts) -> int:
    """Return the operations that follow one another; a division takes as long as three others."""
    return min(facts.operations.arithmetic, MOST_OPERATIONS) + 3 * facts.operations.slow
