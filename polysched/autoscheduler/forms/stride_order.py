"""Loop order by stride: in every nest the loop along which memory is contiguous becomes innermost.

Stages that rebuild several nests at once take the innermost loop as the vector loop. With loops in
this order, a sweep over columns gets the same time tiles as the same sweep over rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_order
from polysched.autoscheduler.forms.nests import Nest, inner_nests, outer_nests
from polysched.ir.core.tree import Node
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.schedule import Schedule


def stride_ordered(
    schedule: Schedule, sizes: Mapping[str, int]
) -> tuple[Schedule, tuple[Decision, ...]]:
    """Reorder the loops of every nest by descending strides where that is legal."""
    decisions: list[Decision] = []
    for nest in tuple(_nests(schedule.program.tree)):
        for order in _by_stride(schedule.program, nest, sizes):
            step = Reorder(tuple(map(nest.reference, order)))
            changed = applied(schedule, (step,))
            if changed is not None and keeps_order(changed.program, nest.statements):
                schedule = changed
                reason = f"{', '.join(order)}: the accesses of the inner loop are contiguous"
                decisions.append(Decision((step,), nest.statements, reason))
                break
    return schedule, tuple(decisions)


def _nests(node: Node) -> Iterator[Nest]:
    """Yield the nests of all depths, outer ones first; a reorder of one leaves the others alone."""
    waiting = list(outer_nests(node))
    while waiting:
        nest = waiting.pop(0)
        yield nest
        waiting += inner_nests(nest)


def _by_stride(program: Program, nest: Nest, sizes: Mapping[str, int]) -> Iterator[tuple[str, ...]]:
    """Yield better orders of the loops of a nest: by descending strides, or only the last one so.

    The stride of a loop is the sum of the distances in bytes between its iterations, over all
    accesses. A loop that no access depends on, such as a time loop, stays outside.
    """
    if not all(loop.is_plain for loop in nest.chain):
        return
    facts = [statement_facts(program, name, sizes) for name in nest.statements]
    accesses = [access for statement in facts for access in statement.accesses]
    names = tuple(loop.name for loop in nest.chain)
    strides: dict[str, float] = {}
    for name in names:
        steps = [access.stride(name) for access in accesses]
        if None in steps:
            return
        strides[name] = sum(abs(step or 0) for step in steps) or math.inf
    order = sorted(names, key=lambda name: -strides[name])
    last = [name for name in names if name != order[-1]] + order[-1:]
    for better in dict.fromkeys((tuple(order), tuple(last))):
        if better != names:
            yield better
