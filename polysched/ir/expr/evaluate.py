"""Exact evaluation of integer expressions over parameters, in Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Mapping

from polysched.errors import KernelError
from polysched.ir.expr.expressions import Constant, Expression, Operation, Parameter
from polysched.ir.expr.operators import Operator


def evaluate(expression: Expression, parameters: Mapping[str, int]) -> int:
    """Evaluate an integer expression or condition over parameters; a condition gives a bool.

    ``//`` rounds toward minus infinity and ``%`` has the sign of its divisor, as in isl. Both
    branches of a selection are evaluated, as in the generated code.

    Raises:
        KernelError: a parameter has no value, a divisor is zero, or a node is not an integer
            expression over parameters (an index, an array element, ``/``, ``sqrt``, ...).
    """
    match expression:
        case Constant(value=int(value)):
            return value
        case Parameter(name=name):
            if name not in parameters:
                raise KernelError(f"parameter '{name}' has no value; pass {name}=...")
            return parameters[name]
        case Operation(operator=operator, operands=operands):
            values = [evaluate(operand, parameters) for operand in operands]
            if operator in _DIVISIONS and values[1] == 0:
                raise KernelError(f"'{expression}' divides by zero")
            return _apply(operator, values, expression)
    raise _not_integer(expression)


_DIVISIONS = frozenset({Operator.FLOOR_DIVIDE, Operator.MODULO})


def _apply(operator: Operator, values: list[int], expression: Expression) -> int:
    match operator, values:
        case Operator.SELECT, [condition, if_true, if_false]:
            return if_true if condition else if_false
        case Operator.NEGATE, [only]:
            return -only
        case Operator.ABSOLUTE, [only]:
            return abs(only)
        case Operator.NOT, [only]:
            return not only
        case _, [left, right]:
            return _apply_binary(operator, left, right, expression)
    raise _not_integer(expression)


def _apply_binary(operator: Operator, left: int, right: int, expression: Expression) -> int:
    match operator:
        case Operator.ADD:
            return left + right
        case Operator.SUBTRACT:
            return left - right
        case Operator.MULTIPLY:
            return left * right
        case Operator.FLOOR_DIVIDE:
            return left // right
        case Operator.MODULO:
            return left % right
        case Operator.MINIMUM:
            return min(left, right)
        case Operator.MAXIMUM:
            return max(left, right)
        case _:
            return _apply_condition(operator, left, right, expression)


def _apply_condition(operator: Operator, left: int, right: int, expression: Expression) -> bool:
    match operator:
        case Operator.LESS:
            return left < right
        case Operator.LESS_EQUAL:
            return left <= right
        case Operator.EQUAL:
            return left == right
        case Operator.NOT_EQUAL:
            return left != right
        case Operator.AND:
            return bool(left and right)
        case Operator.OR:
            return bool(left or right)
    raise _not_integer(expression)


def _not_integer(expression: Expression) -> KernelError:
    return KernelError(
        f"'{expression}' has no integer value; expected parameters and integers joined by + - * // "
        "% min max abs select and comparisons"
    )
