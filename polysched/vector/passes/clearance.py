"""Clearance: prove that an access that varies inside a region never touches a fixed box.

The box is a slot (:mod:`polysched.vector.passes.slots`). The distance between access and slot in
one dimension is a linear form. The bounds of the loops inside the region bound their variables by
linear forms of the variables outside. In a factorization, for example, ``a[8*i + 3, k]`` with ``k <
min(8*i, 16*j)`` stays below the columns from ``16*j`` on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polysched.ir.expr.expressions import Expression, Index, Operation
from polysched.ir.expr.linear import interval, linear_form
from polysched.ir.expr.linear_form import Intervals, LinearForm
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
        place: the subscripts of the first element of the box, which are invariant in the region.
        extents: the extents of the box.
        subscripts: the subscripts of the access.
        around: the region's loops around the access, outermost first, including vector loops.
        known: intervals of the variables and parameters in scope around the region.
    """
    bound = {loop.variable for loop in around}
    distances = [
        linear_form(subscript, {}).plus(first, -1)
        for subscript, first in zip(subscripts, place, strict=True)
    ]
    outside = {name: ends for name, ends in known.items() if name not in bound}
    return any(
        _is_negative(distance, around, outside)
        or _is_negative(distance.times(-1).plus(extent - 1), around, outside)
        for distance, extent in zip(distances, extents, strict=True)
    )


def _is_negative(form: LinearForm, around: Sequence[For], known: Intervals) -> bool:
    """Whether a linear form is below 0 in every iteration of the loops, outermost first."""
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
    """Upper bounds of a loop's variable if ``is_last``, else lower bounds."""
    if is_last:
        for bound in _operands(loop.upper, Operator.MINIMUM):
            yield linear_form(bound, {}).plus(-1)
    else:
        for bound in _operands(loop.lower, Operator.MAXIMUM):
            yield linear_form(bound, {})


def _operands(bound: Expression, operator: Operator) -> Iterator[Expression]:
    """The operands of a bound that is a minimum or maximum; else the bound itself."""
    if isinstance(bound, Operation) and bound.operator is operator:
        for operand in bound.operands:
            yield from _operands(operand, operator)
    else:
        yield bound
