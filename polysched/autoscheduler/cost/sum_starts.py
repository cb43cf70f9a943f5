"""Where the sums of a statement start anew, and whether they wait for those before.

Short sums of neighboring iterations run at once, as the processor looks ahead::

    for i: s = 0                          a sum of its own in each iteration of i
           for j < i: s += L[i][j] * x[j]     reads the newest element last: nothing waits
           x[i] = b[i] - s
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from polysched.autoscheduler.facts.statement import AccessFacts, StatementFacts
from polysched.ir.core.tree import LoopKind


def with_sum_starts(
    facts: StatementFacts,
    earlier: Sequence[tuple[StatementFacts, int]],
    later: Sequence[tuple[StatementFacts, int]],
) -> StatementFacts:
    """Return the facts of a sum with the loops in which it starts anew, and in which it waits.

    Args:
        earlier: the statements before it in the same outermost loop, each with the number of loops
            that both share.
        later: the same of the statements after it.
    """
    if not facts.reads_target:
        return facts
    starts = {
        facts.loops[common - 1].name
        for other, common in earlier
        if 0 < common < len(facts.loops) and _starts(other, facts, common)
    }
    waits = {
        loop.name
        for others, is_earlier in ((earlier, True), (later, False))
        for other, common in others
        for access in facts.accesses[1:]
        if access.array == other.target.array and access.array != facts.target.array
        for loop in facts.loops[:common]
        if not (is_earlier and _moves_with(access, other.target, facts, common))
        and not _reads_newest_last(access, other.target, facts, loop.name, common)
    }
    stalls = {
        facts.loops[common - 1].name
        for other, common in later
        if 0 < common < len(facts.loops) and _loads_newest(facts, other.target, common)
        if not any(loop.kind is LoopKind.VECTOR for loop in other.loops)
    }
    target = replace(facts.target, born_in=facts.target.born_in | starts)
    return replace(
        facts,
        accesses=(target, *facts.accesses[1:]),
        waits_in=facts.waits_in | waits,
        stalls_in=frozenset(stalls),
    )


def _starts(other: StatementFacts, facts: StatementFacts, common: int) -> bool:
    """Whether another statement overwrites the target in each iteration of the common loops."""
    return (
        other.target.array == facts.target.array
        and not other.reads_target
        and _moves_with(facts.target, other.target, facts, common)
    )


def _moves_with(
    access: AccessFacts, target: AccessFacts, facts: StatementFacts, common: int
) -> bool:
    """Whether two accesses move along the common loops in the same way."""
    return all(
        access.stride(loop.name) == target.stride(loop.name) for loop in facts.loops[:common]
    )


def _loads_newest(facts: StatementFacts, written: AccessFacts, common: int) -> bool:
    """Whether vectors hold the element that the iteration of the common loops before has stored."""
    *outer, loop = facts.loops[:common]
    step = written.stride(loop.name) or 0
    for access in facts.accesses[1:] if step else ():
        if access.array != written.array or any(
            access.stride(loop.name) != written.stride(loop.name) for loop in outer
        ):
            continue
        steps = {loop: access.stride(loop.name) or 0 for loop in facts.loops[common:]}
        inner = [loop for loop, stride in steps.items() if stride]
        vectors = [loop for loop in inner if loop.kind is LoopKind.VECTOR]
        vector = sum(abs(steps[vector]) * vector.lanes for vector in vectors)
        moved = access.stride(loop.name)
        if moved == 0 and any(loop.name in vector.bounded_by for vector in vectors):
            return True
        # Offsets leave out parameters: the element may be on either side.
        apart = abs(written.offset - step - access.offset)
        if (
            moved == step
            and abs(step) < vector
            and apart < sum(abs(steps[loop]) * loop.trip for loop in inner)
        ):
            return True
    return False


def _reads_newest_last(
    access: AccessFacts, target: AccessFacts, facts: StatementFacts, loop: str, common: int
) -> bool:
    """Whether the terms of a sum run through an array in the direction in which it is written."""
    written = target.stride(loop)
    read = [access.stride(inner.name) for inner in facts.loops[common:]]
    if written is None or None in read:
        return False
    return written * sum(stride or 0 for stride in read) > 0
