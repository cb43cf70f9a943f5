"""Fuse neighboring nests that add to the same elements, so that each sum stays in one register.

Two nests of one loop over terms may add products to the same ``C``. Distributed, they are two
contractions, each of which loads and stores ``C``; fused, they are one with twice as many terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.statement import LoopFacts, StatementFacts
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.forms.nests import Nest, outer_nests
from polysched.ir.core.tree import Loop, Node, Sequence
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step


def with_shared_sums(
    schedule: Schedule, sizes: Mapping[str, int]
) -> tuple[Schedule, tuple[Decision, ...]]:
    """Fuse each nest of sums with the one before it if both add to the same elements."""
    decisions: list[Decision] = []
    tried: set[str] = set()
    while (pair := _next(schedule.program, tried)) is not None:
        first, second = pair
        tried.add(second.statements[0])
        steps = _fusing(schedule.program, first, second, sizes)
        changed = applied(schedule, steps) if steps else None
        names = (*first.statements, *second.statements)
        if (
            changed is not None
            and keeps_order(changed.program, names)
            and keeps_buffers(changed.program)
        ):
            schedule = changed
            target = schedule.program.statements[names[0]].target.array
            reason = f"fused: both add to the same elements of {target}, which stay in registers"
            decisions.append(Decision(steps, names, reason))
    return schedule, tuple(decisions)


def _next(program: Program, tried: set[str]) -> tuple[Nest, Nest] | None:
    """Return the first two neighboring nests of sums of which the second has not been tried."""
    for children in _sequences(program.tree):
        for pair in pairwise(children):
            if not all(isinstance(child, Loop) for child in pair):
                continue
            first, second = (next(outer_nests(child)) for child in pair)
            if (
                second.statements[0] not in tried
                and len(first.chain) == len(second.chain)
                and _is_plain(first)
                and _is_plain(second)
            ):
                return first, second
    return None


def _sequences(node: Node) -> Iterator[tuple[Node, ...]]:
    match node:
        case Sequence(children=children):
            yield children
            for child in children:
                yield from _sequences(child)
        case Loop(body=body):
            yield from _sequences(body)


def _is_plain(nest: Nest) -> bool:
    """Whether a nest has sequential loops only, and its statements in the innermost one."""
    return nest.has_leaves and all(loop.is_plain for loop in nest.chain)


def _fusing(
    program: Program, first: Nest, second: Nest, sizes: Mapping[str, int]
) -> tuple[Step, ...]:
    """Return the steps that fuse all loops of two nests; none if they add to different elements."""
    names = (*first.statements, *second.statements)
    statements = [program.statements[name] for name in names]
    if len({statement.target.array for statement in statements}) > 1 or any(
        statement.reduction is None for statement in statements
    ):
        return ()
    inner = {name: statement_facts(program, name, sizes) for name in names}
    before, after = inner[first.statements[0]], inner[second.statements[0]]
    matched = _matched(before, after, len(first.chain))
    if matched is None:
        return ()
    orders = dict.fromkeys(first.statements, tuple(loop.name for loop in first.chain))
    orders |= dict.fromkeys(second.statements, matched)
    elements = {
        (facts.target.offset, *(facts.target.stride(loop) for loop in orders[name]))
        for name, facts in inner.items()
    }
    if len(elements) > 1:
        return ()
    order = tuple(map(second.reference, matched))
    is_same = matched == tuple(loop.name for loop in second.chain)
    return (
        *(() if is_same else (Reorder(order),)),
        *(
            Fuse(first.reference(loop.name), reference, loop.name)
            for loop, reference in zip(first.chain, order, strict=True)
        ),
    )


def _matched(first: StatementFacts, second: StatementFacts, depth: int) -> tuple[str, ...] | None:
    """Return the innermost loops of a statement that run as those of another do, in its order."""
    waiting = list(second.loops[-depth:])
    found: list[str] = []
    for loop in first.loops[-depth:]:
        alike = [other for other in waiting if _runs(other, second) == _runs(loop, first)]
        if not alike:
            return None
        waiting.remove(alike[0])
        found.append(alike[0].name)
    return tuple(found)


def _runs(loop: LoopFacts, facts: StatementFacts) -> tuple[object, ...]:
    return loop.trip, loop.start, loop.stride, facts.target.stride(loop.name)
