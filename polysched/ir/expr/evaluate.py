"""Exact evaluation of integer expressions over parameters, in Python's unbounded integers."""

from __future__ import annotations

import operator as python
from collections.abc import Callable, Mapping
from types import MappingProxyType

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
            if operator in _FUNCTIONS:
                return _FUNCTIONS[operator](*values)
    raise _not_integer(expression)


_DIVISIONS = frozenset({Operator.FLOOR_DIVIDE, Operator.MODULO})
_FUNCTIONS: Mapping[Operator, Callable[..., int]] = MappingProxyType(
    {
        Operator.ADD: python.add,
        Operator.SUBTRACT: python.sub,
        Operator.MULTIPLY: python.mul,
        Operator.FLOOR_DIVIDE: python.floordiv,
        Operator.MODULO: python.mod,
        Operator.NEGATE: python.neg,
        Operator.ABSOLUTE: abs,
        Operator.MINIMUM: min,
        Operator.MAXIMUM: max,
        Operator.SELECT: lambda condition, if_true, if_false: if_true if condition else if_false,
        Operator.LESS: python.lt,
        Operator.LESS_EQUAL: python.le,
        Operator.EQUAL: python.eq,
        Operator.NOT_EQUAL: python.ne,
        Operator.AND: lambda left, right: bool(left and right),
        Operator.OR: lambda left, right: bool(left or right),
        Operator.NOT: python.not_,
    }
)


def _not_integer(expression: Expression) -> KernelError:
    return KernelError(
        f"'{expression}' has no integer value; expected parameters and integers joined by + - * // "
        "% min max abs select and comparisons"
    )
