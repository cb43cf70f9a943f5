"""Excess precision of C's half types (C23 5.3.5.3.3): operations on them are computed in f32.

As in clang, the value of an operation is rounded where it is stored, cast, compared or converted to
another type; as the operand of another operation it is not.
"""

from __future__ import annotations

from polysched.ir.expr.expressions import Cast, Expression, Operation, in_arithmetic


def unrounded(value: Expression) -> Expression:
    """Return the f32 result of an operation on half types, before it is rounded.

    Other values are returned unchanged.
    """
    match value:
        case Cast(operand=Operation() as result, type=dtype) if dtype.is_half:
            return result
        case Cast(operand=Cast(operand=Cast(type=inner)) as result, type=dtype) if (
            dtype.is_half and inner == dtype
        ):
            return result
    return value


def rounded(value: Expression) -> Expression:
    """Return a value of a half type so that operators take it as rounded: the result of a cast."""
    if isinstance(value, Cast) and value.type.is_half:
        return Cast(in_arithmetic(value), value.type)
    return value
