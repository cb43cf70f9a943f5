"""Bounds that data puts on the iterations in which a statement changes its target.

They are conditions ``e <= f`` and ``f < e``, where ``e`` reads data and ``f`` is affine in the
loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polysched.ir.core.guards import reads_target
from polysched.ir.core.kernel import Access
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Load, Operation
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads

_REDUCTIONS = (Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM)


@dataclass(frozen=True)
class Bound:
    """The condition ``value <= form + c``, or ``form + c < value`` if it is an upper bound.

    Attributes:
        form: affine in loop variables and parameters, without its constant ``c``.
        value: an integer that is read from data.
    """

    form: LinearForm
    value: Expression
    is_upper: bool


def data_bounds(target: Access, value: Expression) -> dict[Bound, int]:
    """The conditions without which an assignment does not change its target."""

    def is_before(part: Expression) -> bool:
        return isinstance(part, Load) and reads_target(part, target)

    return _changing(value, is_before)


def _changing(value: Expression, is_kept: Callable[[Expression], bool]) -> dict[Bound, int]:
    """The conditions without which a value is one that ``is_kept`` accepts."""
    match value:
        case Operation(operator=Operator.SELECT, operands=(holds, then, otherwise)) if is_kept(
            otherwise
        ):
            return {**_changing(then, is_kept), **bounds_of(holds)}
        case Operation(operator=Operator.SUBTRACT, operands=(left, right)) if is_kept(left):
            return _changing(right, lambda part: repr(getattr(part, "value", None)) in ("0", "0.0"))
        case Operation(operator=operator, operands=(left, right), dtype=dtype) if (
            operator in _REDUCTIONS and dtype is not None
        ):
            neutral = neutral_element(operator, dtype)
            for one, other in ((left, right), (right, left)):
                if is_kept(one):
                    return _changing(other, lambda part: _is_same(part, neutral))
    return {}


def _is_same(value: Expression, constant: Constant) -> bool:
    """Whether a value is a constant, with the sign of its zero."""
    return isinstance(value, Constant) and repr(value.value) == repr(constant.value)


def bounds_of(condition: Expression) -> dict[Bound, int]:
    """The bounds that must hold for a condition to hold."""
    match condition:
        case Operation(operator=Operator.AND, operands=operands):
            return {**bounds_of(operands[0]), **bounds_of(operands[1])}
        case Operation(operator=Operator.SELECT, operands=(first, second, Constant(value=False))):
            return {**bounds_of(first), **bounds_of(second)}
    compared = comparison(condition)
    return {} if compared is None else dict([compared])


def comparison(condition: Expression) -> tuple[Bound, int] | None:
    """The bound that a comparison of signed integers states, with its constant."""
    is_strict = isinstance(condition, Operation) and condition.operator is Operator.LESS
    if not isinstance(condition, Operation) or not (
        is_strict or condition.operator is Operator.LESS_EQUAL
    ):
        return None
    left, right = condition.operands
    is_upper = not loads(left)
    index, value = (left, right) if is_upper else (right, left)
    dtype = value.dtype
    if not loads(value) or dtype is None or not dtype.is_integer or not dtype.is_signed:
        return None
    form = linear_form(_plain(index), {})
    if not form.is_affine:
        return None
    bound = Bound(ordered(form.plus(-form.constant)), value, is_upper)
    return bound, form.constant - (is_strict != is_upper)


def _plain(value: Expression) -> Expression:
    """An index without the conversion to another integer type."""
    return value.operand if isinstance(value, Cast) and isinstance(value.operand, Index) else value


def ordered(form: LinearForm) -> LinearForm:
    """Return a form with its terms in the order that equal forms share."""
    return LinearForm(form.ordered_terms, form.constant)
