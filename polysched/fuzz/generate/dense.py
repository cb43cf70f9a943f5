"""Random rectangular nests: matrix products, sums, copies, transposes.

The subscripts are permuted indices with small offsets, so vectors load rows and form tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from polysched.fuzz.generate.drafting import Draft, Target, new_array, spans
from polysched.fuzz.generate.randomness import chance, choose, shuffled
from polysched.fuzz.generate.sketch import AssignSketch, PartSketch
from polysched.fuzz.generate.values import reduction, value
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.expressions import Constant, Expression, Load

Pick: TypeAlias = Callable[[Draft, Target], Load]


def dense(draft: Draft) -> tuple[PartSketch, ...]:
    """Generate a nest of one statement; sometimes a nest that fills a temporary precedes it."""
    integers = draft.integers
    sources = [_array(draft, Role.INPUT, _rank(draft)) for _ in range(integers(1, 2))]
    parts: list[PartSketch] = []
    if chance(integers, 1, 3):
        between = _array(draft, Role.TEMPORARY, choose(integers, [2, 1]))
        parts.append(_nest(draft, between, sources, between.sketch.shape, _at_indices))
        sources = [between, *sources[:1]]
    is_sum = chance(integers, 1, 3)
    roles = [Role.INOUT] if is_sum else [Role.OUTPUT, Role.INOUT]
    result = _array(draft, choose(integers, roles), _rank(draft))
    loops = len(result.signed) + is_sum
    extents = [
        choose(integers, [*draft.sizes, *draft.sizes, Constant(integers(2, 3))])
        for _ in range(loops)
    ]
    return (*parts, _nest(draft, result, sources, extents, _nearby))


def _rank(draft: Draft) -> int:
    return choose(draft.integers, [2, 2, 2, 1, 3])


def _array(draft: Draft, role: Role, rank: int) -> Target:
    return new_array(draft, role, rank, signed=False)


def _nest(
    draft: Draft, target: Target, sources: list[Target], extents: Sequence[Expression], pick: Pick
) -> PartSketch:
    """Generate a loop for each extent; more loops than target dimensions make a reduction."""
    if extents:
        with draft.loop(Constant(0), extents[0]) as closed:
            return closed(_nest(draft, target, sources, extents[1:], pick))
    written = Load(target.sketch.name, _indices(draft, len(target.signed)), target.sketch.dtype)
    name, assigned = draft.statement_name(), value(draft, sources, written.dtype, pick)
    if len(draft.scope) == len(target.signed):
        return AssignSketch(name, written, assigned)
    order = choose(draft.integers, [Order.ANY, Order.EXACT])
    return reduction(draft, name, written, assigned, order)


def _at_indices(draft: Draft, array: Target) -> Load:
    return Load(array.sketch.name, _indices(draft, len(array.signed)), array.sketch.dtype)


def _nearby(draft: Draft, array: Target) -> Load:
    """Read an element at the indices, next to them, or mirrored."""
    end = spans(draft, 1, 0)
    subscripts = tuple(
        choose(draft.integers, [index] * 6 + [index + 1, index + 2, end - index])
        for index in _indices(draft, len(array.signed))
    )
    return Load(array.sketch.name, subscripts, array.sketch.dtype)


def _indices(draft: Draft, rank: int) -> tuple[Expression, ...]:
    """Return ``rank`` indices, in order or shuffled; each occurs once if there are enough."""
    indices = draft.scope
    if chance(draft.integers, 1, 2):
        indices = shuffled(draft.integers, indices)
    return tuple((indices * rank)[:rank])
