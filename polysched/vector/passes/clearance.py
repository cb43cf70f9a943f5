"""Clearance: whether an access that moves inside a region ever comes to a place that stays.

The place is a slot (:mod:`polysched.vector.passes.slots`). The distance between the two in one
dimension is a weighted sum; the loops inside the region say how far each of their variables goes,
in terms of what is around. In a factorization, for example, ``a[8*i + 3, k]`` with
``k < min(8*i, 16*j)`` stays below the columns from ``16*j`` on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.ir.expr.expressions import Expression, Index, Operation
from polysched.ir.expr.linear import Intervals, LinearForm, interval, linear_form
from polysched.ir.expr.operators import Operator
from polysched.loops.ir.nodes import For


def is_clear(
    place: Sequence[LinearForm],
    extents: Sequence[int],
    subscripts: Sequence[Expression],
    around: Sequence[For],
    known: Intervals,
) -> bool:
    """Whether an access provably never touches a box of elements.

    Args:
        place: the first element of the box; nothing in it changes inside the region.
        extents: of the box.
        subscripts: of the access.
        around: the region's loops around the access, from the outermost; a vector loop is one.
        known: intervals of what is known around the region.
    """
    bound = {loop.variable for loop in around}
    distances = [
        linear_form(subscript, {}).plus(first, -1)
        for subscript, first in zip(subscripts, place, strict=True)
    ]
    outside = {name: ends for name, ends in known.items() if name not in bound}
    return any(
        _is_negative(distance, around, outside)
        or _is_negative(distance.times(-1).plus(LinearForm((), extent - 1)), around, outside)
        for distance, extent in zip(distances, extents, strict=True)
    )


def _is_negative(form: LinearForm, around: Sequence[For], known: Intervals) -> bool:
    """Whether a sum is below 0 in every iteration of the loops, innermost last."""
    if not around:
        _, high = interval(form, known)
        return high is not None and high < 0
    *outer, innermost = around
    variable = Index(innermost.variable)
    factor = dict(form.terms).get(variable, 0)
    if not factor:
        return _is_negative(form, outer, known)
    rest = form.plus(LinearForm(((variable, 1),), 0), -factor)
    return any(
        _is_negative(rest.plus(end, factor), outer, known) for end in _ends(innermost, factor > 0)
    )


def _ends(loop: For, is_last: bool) -> Iterator[LinearForm]:
    """Bounds of a loop's variable from above or, else, from below."""
    if is_last:
        for bound in _operands(loop.upper, Operator.MINIMUM):
            yield linear_form(bound, {}).plus(LinearForm((), -1))
    else:
        for bound in _operands(loop.lower, Operator.MAXIMUM):
            yield linear_form(bound, {})


def _operands(bound: Expression, operator: Operator) -> Iterator[Expression]:
    """What a bound is the minimum (or maximum) of."""
    if isinstance(bound, Operation) and bound.operator is operator:
        for operand in bound.operands:
            yield from _operands(operand, operator)
    else:
        yield bound
