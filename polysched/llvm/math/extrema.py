"""Minimum and maximum of floating-point numbers; NaN propagates, and -0 is below +0.

The processor's instruction computes ``a if a < b else b``. It is used twice, with the operands in
both orders. The two results differ only for zeros of different signs and for NaN, and then the
correct result follows from the bits of both. A minimum takes three instructions and a maximum five.
LLVM's ``llvm.minimum`` takes six on x86 and moves masks between registers.

If an operand is a literal, as in a ReLU, a single comparison is sufficient: it selects the literal
where the literal is beyond the number, and the number where both are equal and where the number is
NaN. Equal operands have different bits only if they are zeros.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import element_bits, literal_value


def minimum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """Emit the minimum of scalars or of each lane."""
    literal, number = _literal_first(left, right)
    # Only the sign of a zero is undecided, and -0 must be selected.
    if literal is not None and not is_zero(literal, -1.0):
        return _one_way(builder, "<", literal, number)
    first, second = _both_ways(builder, "<", left, right)
    # For zeros of different signs, "or" sets the sign bit. A NaN stays a NaN, because all bits of
    # its exponent are set.
    return builder.bitcast(builder.or_(first, second), left.type)


def maximum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """Emit the maximum of scalars or of each lane."""
    literal, number = _literal_first(left, right)
    if literal is not None:
        beyond = _one_way(builder, ">", literal, number)
        # -0 + 0 is +0, and every other number plus 0 is itself.
        return builder.fadd(beyond, literal) if is_zero(literal, 1.0) else beyond
    first, second = _both_ways(builder, ">", left, right)
    # x - 0 is x, -0 - -0 is +0, and NaN minus anything is NaN.
    joined = builder.bitcast(builder.or_(first, second), left.type)
    apart = builder.bitcast(builder.xor(first, second), left.type)
    return builder.fsub(joined, apart)


def _literal_first(left: Any, right: Any) -> tuple[Any, Any]:
    """The literal operand and the other operand; the literal is None if there is none, or a NaN."""
    for literal, number in ((left, right), (right, left)):
        value = literal_value(literal)
        if value is not None and not math.isnan(value):
            return literal, number
    return None, None


def is_zero(literal: Any, sign: float) -> bool:
    """Whether a literal is the zero with the sign of ``sign``."""
    value = literal_value(literal)
    return value == 0 and math.copysign(1.0, value) == sign


def _one_way(builder: ir.IRBuilder, predicate: str, literal: Any, number: Any) -> Any:
    """Select the literal if it is beyond the number, else the number."""
    beyond = builder.fcmp_ordered(predicate, literal, number)
    return builder.select(beyond, literal, number)


def _both_ways(builder: ir.IRBuilder, predicate: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The bits of both results; if no comparison holds, these are the bits of both operands."""
    bits = ir.IntType(element_bits(left.type))
    count = left.type.count if isinstance(left.type, ir.VectorType) else None
    integers = bits if count is None else ir.VectorType(bits, count)
    first, second = (
        builder.select(builder.fcmp_ordered(predicate, first, second), first, second)
        for first, second in ((left, right), (right, left))
    )
    return builder.bitcast(first, integers), builder.bitcast(second, integers)
