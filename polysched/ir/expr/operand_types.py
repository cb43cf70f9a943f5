"""Types of the operands that an operator takes."""

from __future__ import annotations

from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.operators import BITWISE, FLOAT_ONLY, INTEGER_ONLY, LOGICAL, SHIFTS, Operator

_SPELLED = MappingProxyType({Operator.AND: "&", Operator.OR: "|", Operator.NOT: "~"})


def expected_operands(operator: Operator, dtype: DType | None) -> str | None:
    """Name the operand types that an operator expects; None if it takes the given type.

    Args:
        dtype: the type of all operands; None if they are untyped literals.
    """
    if operator in LOGICAL:
        return None if dtype == boolean else f"conditions, or integers as {_SPELLED[operator]}"
    if dtype is None:
        return None
    if dtype == boolean:
        return "numbers"
    if operator in FLOAT_ONLY and not dtype.is_float:
        return "floating-point operands (for integers: //)"
    if operator in INTEGER_ONLY and not dtype.is_integer:
        if operator in BITWISE | SHIFTS or operator is Operator.BIT_NOT:
            return "integer operands (convert floating-point ones)"
        return "integer operands (for floating point: /, np.floor, np.fmod)"
    return None
