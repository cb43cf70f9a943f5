"""Split a row of terms that an instruction adds in groups: whole groups, and a partial group.

Lanes that divide ``n`` terms into groups of four::

    unrolled term in 0..min(3, n - 1) + 1:
      vector lane in 0..(n - term + 3)//4:
        s[lane] += a[4*lane + term]

become whole groups, which the instruction adds, and a rest of single terms::

    unrolled term in 0..4:
      vector lane in 0..n//4:
        s[lane] += a[4*lane + term]
    for term in 0..n%4:
      vector lane in n//4..n//4 + 1:
        s[lane] += a[4*(n//4) + term]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.instructions.declaration import Instruction
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Load, Operation
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import substituted, transform
from polysched.loops.ir.nodes import Assign, For, LoopNode


def whole_groups_and_rest(
    nest: list[For], assign: Assign, form: Instruction
) -> tuple[list[For], LoopNode] | None:
    """Return the nest of the whole groups, and the rest; None if the loops have another form.

    The terms are added in another order, so the sum must be an integer sum, which wraps.
    """
    dtype = form.kernel.arrays[form.statement.target.array].dtype
    if len(nest) != 2 or not dtype.is_integer:
        return None
    terms, vector = nest
    if (terms.kind, vector.kind) != (LoopKind.UNROLLED, LoopKind.VECTOR) or terms.step != 1:
        return None
    count = _count(terms, vector, form.terms)
    if count is None:
        return None
    remaining = maximum(count.expression(), 0)
    groups = remaining // form.terms
    whole = [
        replace(terms, upper=Constant(form.terms)),
        replace(vector, upper=minimum(groups, vector.lanes)),
    ]
    # One lane of the rest runs, so the element that it reads can be read in all lanes.
    own = assign.target.array
    value = transform(
        assign.value,
        lambda node: (
            substituted(node, {vector.variable: groups})
            if isinstance(node, Load) and node.array != own
            else None
        ),
    )
    last = replace(
        vector,
        lower=minimum(groups, vector.lanes),
        upper=minimum(groups + 1, vector.lanes),
        body=replace(assign, value=value),
        instruction=None,
    )
    rest = replace(
        terms,
        upper=remaining - form.terms * groups,
        kind=LoopKind.SEQUENTIAL,
        body=last,
        instruction=None,
    )
    return whole, rest


def _count(terms: For, vector: For, width: int) -> LinearForm | None:
    """Return the number of terms in groups of some width, of which lane ``i`` has group ``i``."""
    if terms.lower != Constant(0) or vector.lower != Constant(0):
        return None
    counts = None
    for number in range(width):
        upper = substituted(vector.upper, {terms.variable: Constant(number)})
        lanes = _uncapped(upper, vector.lanes)
        found = {_key(count): count for count in _counts(lanes, number, width)}
        counts = found if counts is None else {key: counts[key] for key in counts if key in found}
    reached = _uncapped(terms.upper, width)
    for key, count in (counts or {}).items():
        if key == _key(reached) or reached == LinearForm((), width):
            return count
    return None


def _counts(lanes: LinearForm, number: int, width: int) -> Iterator[LinearForm]:
    """Yield ``n`` such that ``lanes`` is the number of groups with a term of some number.

    That is ``(n - number + width - 1)//width``.
    """
    for atom, coefficient in lanes.terms:
        match atom:
            case Operation(
                operator=Operator.FLOOR_DIVIDE, operands=(dividend, Constant(value=divisor))
            ) if (divisor, coefficient) == (width, 1):
                others = lanes.plus(LinearForm(((atom, 1),), 0), -1)
                yield linear_form(dividend, {}).plus(number + 1 - width).plus(others, width)


def _key(form: LinearForm) -> object:
    return form.ordered_terms, form.constant


def _uncapped(end: Expression, most: int) -> LinearForm:
    """Return ``n`` of an end ``min(most - 1, n - 1) + 1``, else the end itself."""
    form = linear_form(end, {})
    match form.terms:
        case ((Operation(operator=Operator.MINIMUM, operands=(one, other)), 1),) if (
            form.constant == 1
        ):
            for cap, inner in ((one, other), (other, one)):
                if cap == Constant(most - 1):
                    return linear_form(inner, {}).plus(1)
    return form
