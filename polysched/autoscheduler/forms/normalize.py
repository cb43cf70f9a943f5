"""Normalization: distribute loops as far as legal, with temporaries privatized where it helps.

The same computation, fused otherwise, then gets the same nests. Loop orders are left to the
recipes, which choose them by cost.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.candidate import Decision
from polysched.autoscheduler.forms.legal import applied, keeps_buffers, keeps_order
from polysched.autoscheduler.forms.private_arrays import privatized
from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Array, Order, Role
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, loops
from polysched.ir.semantics.memory import concrete_shape
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

SMALLEST_EXPANSION = 2**16
"""Bytes that a privatized temporary may always take; a larger one must not exceed an argument."""


def normalized(
    schedule: Schedule,
    sizes: Mapping[str, int],
    kept: frozenset[str] = frozenset(),
    *,
    keeps_sums: bool = True,
    privatizes: bool = True,
) -> tuple[Schedule, tuple[Decision, ...]]:
    """Distribute every loop as far as legal, inner loops first, except the ``kept`` ones.

    Args:
        keeps_sums: whether sums with shared reads stay in one loop.
        privatizes: whether temporaries may get an element for each iteration.
    """
    decisions: list[Decision] = []
    done: set[tuple[str, ...]] = set()
    while (loop := _next(schedule.program.tree, done)) is not None:
        done.add(_key(loop))
        if (
            loop.name in kept
            or _is_shared_sum(schedule.program, loop)
            or (keeps_sums and _are_sums(schedule.program, loop, sizes))
        ):
            continue
        for decision in _attempts(schedule, loop, sizes if privatizes else None):
            changed = applied(schedule, decision.steps)
            if (
                changed is not None
                and keeps_order(changed.program, loop.statements)
                and keeps_buffers(changed.program)
            ):
                schedule = changed
                decisions.append(decision)
                break
    return schedule, tuple(decisions)


def _key(loop: Loop) -> tuple[str, ...]:
    return (loop.name, *loop.statements)


def _next(tree: Node, done: set[tuple[str, ...]]) -> Loop | None:
    """Return the innermost, first loop around a sequence that has not been tried."""
    open_loops = [
        loop
        for loop in loops(tree)
        if isinstance(loop.body, Sequence)
        and loop.kind is LoopKind.SEQUENTIAL
        and not loop.prefetches
        and _key(loop) not in done
    ]
    inner = [
        loop
        for loop in open_loops
        if not any(other is not loop and other in loops(loop) for other in open_loops)
    ]
    return inner[0] if inner else None


def _attempts(
    schedule: Schedule, loop: Loop, sizes: Mapping[str, int] | None
) -> Iterator[Decision]:
    """Yield ways to distribute a loop: everywhere first, then at one place; then privatizing."""
    assert isinstance(loop.body, Sequence)
    reference = f"{loop.statements[0]}.{loop.name}"
    cuts: list[Step] = [Distribute(reference)]
    if len(loop.body.children) > 2:
        ends = [child.statements[-1] for child in loop.body.children[:-1]]
        cuts += [Distribute(reference, after) for after in ends]
    for cut in cuts:
        yield Decision((cut,), loop.statements, _reason(loop, ()))
    if sizes is None:
        return
    own = privatized(
        schedule,
        reference,
        set(loop.statements),
        "private",
        accepts=partial(_is_affordable, sizes=sizes),
    )
    if all(isinstance(child, Leaf) for child in loop.body.children):
        # A recurrence of several statements keeps its temporaries in registers.
        cuts = cuts[:1]
    for cut in cuts if own else ():
        names = tuple(step.array for step in own)
        yield Decision((*own, cut), loop.statements, _reason(loop, names))


def _is_shared_sum(program: Program, loop: Loop) -> bool:
    """Whether all parts of a loop's body update the same element, which stays in a register."""
    assert isinstance(loop.body, Sequence)
    targets = [program.statements[name] for name in loop.statements]
    if not all(isinstance(child, Leaf) for child in loop.body.children):
        return False
    first = targets[0].target
    return all(
        statement.target.array == first.array
        and [str(x) for x in statement.target.subscripts] == [str(x) for x in first.subscripts]
        and any(read == statement.target for read in statement.reads)
        for statement in targets
    )


def _are_sums(program: Program, loop: Loop, sizes: Mapping[str, int]) -> bool:
    """Whether the parts of a loop's body are reorderable sums along the loop with shared reads.

    If so, lanes run along the loop, and each element is loaded once for all sums.
    """
    assert isinstance(loop.body, Sequence)
    several = [program.statements[name] for name in loop.statements]
    read = [
        {load.array for load in statement.reads} - {statement.target.array} for statement in several
    ]
    return (
        all(isinstance(child, Leaf) for child in loop.body.children)
        and all(
            any(arrays & other_arrays for other_arrays in (*read[:at], *read[at + 1 :]))
            for at, arrays in enumerate(read)
        )
        and all(
            statement.reduction is not None
            and statement.reduction.order is Order.ANY
            and statement_facts(program, statement.name, sizes).is_sum_along(loop.name)
            for statement in several
        )
    )


def _reason(loop: Loop, privatized: tuple[str, ...]) -> str:
    own = f" once it has its own {', '.join(privatized)}" if privatized else ""
    return f"loop {loop.name} is distributed, so that each part gets its own loop order{own}"


def _is_affordable(program: Program, name: str, sizes: Mapping[str, int]) -> bool:
    arguments = [array for array in program.arrays.values() if array.role is not Role.TEMPORARY]
    largest = max((_bytes(array, sizes) for array in arguments), default=0)
    return _bytes(program.arrays[name], sizes) <= max(SMALLEST_EXPANSION, largest)


def _bytes(array: Array, sizes: Mapping[str, int]) -> float:
    try:
        return math.prod(concrete_shape(array.stored_shape, sizes)) * array.dtype.bits / 8
    except PolyschedError:
        return math.inf
