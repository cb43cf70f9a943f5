"""Evaluate conditions whose operands are literals."""

from __future__ import annotations

from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Cast, Constant, Expression, Number, Operation
from polysched.ir.expr.operators import COMPARISONS, Operator

TRUE, FALSE = Constant(True, boolean), Constant(False, boolean)


def folded(value: Expression) -> Expression:
    """Evaluate a condition whose operands are partly literals."""
    match value:
        case Operation(operator=Operator.SELECT, operands=(Constant(value=holds), first, second)):
            return first if holds else second
        case Operation(operator=Operator.NOT, operands=(Constant(value=holds),)):
            return FALSE if holds else TRUE
        case Operation(operator=Operator.AND | Operator.OR as operator, operands=(left, right)):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Constant):
                    return other if bool(one.value) == (operator is Operator.AND) else one
        case Operation(operator=operator, operands=(Constant(value=left), Constant(value=right))):
            if operator in COMPARISONS and _is_small(left) and _is_small(right):
                return TRUE if _compared(operator, left, right) else FALSE
        case Cast(operand=Cast(operand=inner, type=between), type=dtype) if inner.dtype == dtype:
            are_integers = dtype.is_integer and between.is_integer
            return inner if are_integers and between.bits >= dtype.bits else value
        case Cast(operand=Constant(value=number), type=dtype) if dtype.is_integer:
            fits = _is_small(number) and dtype.bits > 1
            return Constant(int(number), dtype) if fits else value
    return value


def _is_small(number: Number) -> bool:
    """Whether a number is an integer that all integer types with more than a bit hold."""
    return isinstance(number, int) and 0 <= number <= 1


def _compared(operator: Operator, left: Number, right: Number) -> bool:
    return {
        Operator.LESS: left < right,
        Operator.LESS_EQUAL: left <= right,
        Operator.EQUAL: left == right,
        Operator.NOT_EQUAL: left != right,
    }[operator]
