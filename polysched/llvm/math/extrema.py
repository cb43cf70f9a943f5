"""Minimum and maximum of floating-point numbers: NaN if one of them is, and -0 below +0.

They are made of the one comparison that processors have, ``a if a < b else b``, taken both ways.
The two answers differ in zeros of both signs and where there is a NaN only, and what is right then
follows from their bits: three instructions for a minimum, five for a maximum, where LLVM's
``llvm.minimum`` takes six on x86 and moves masks between registers.

Against a literal, as in a rectifier, one way is enough: the literal where it is beyond the number,
which the processor's comparison leaves as it is where it equals the literal and where it is a NaN.
What equals the literal is another number for zeros only.
"""

from __future__ import annotations

import math
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import Splat, element_bits


def minimum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """The smaller number, of scalars or of each lane."""
    literal, number = _literal_first(left, right)
    # A zero of the number may be of either sign; -0 is to win, and nothing else is in doubt.
    if literal is not None and not is_zero(literal, -1.0):
        return _one_way(builder, "<", literal, number)
    first, second = _both_ways(builder, "<", left, right)
    # Of zeros of both signs the sign bit of one is set; whatever a NaN is joined with, it stays
    # one, for its exponent has all bits set.
    return builder.bitcast(builder.or_(first, second), left.type)


def maximum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """The larger number, of scalars or of each lane."""
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
    """The operand that is a literal, and the other; None if none is, or it is not a number."""
    for one, other in ((left, right), (right, left)):
        value = literal_value(one)
        if value is not None and not math.isnan(value):
            return one, other
    return None, None


def literal_value(value: Any) -> float | None:
    """The number that a scalar is, or each lane of a vector; None if it is no literal."""
    one = value.lane if isinstance(value, Splat) else value
    if not isinstance(one, ir.Constant) or isinstance(one.type, ir.VectorType):
        return None
    return float(one.constant)


def is_zero(literal: Any, sign: float) -> bool:
    """Whether a literal is the zero of a sign."""
    value = literal_value(literal)
    return value == 0 and math.copysign(1.0, value) == sign


def _one_way(builder: ir.IRBuilder, predicate: str, literal: Any, number: Any) -> Any:
    """The literal where it is beyond a number, else the number."""
    beyond = builder.fcmp_ordered(predicate, literal, number)
    return builder.select(beyond, literal, number)


def _both_ways(builder: ir.IRBuilder, predicate: str, left: Any, right: Any) -> tuple[Any, Any]:
    """The bits of both answers: where no comparison holds, those of the one and of the other."""
    bits = ir.IntType(element_bits(left.type))
    count = left.type.count if isinstance(left.type, ir.VectorType) else None
    integers = bits if count is None else ir.VectorType(bits, count)
    first, second = (
        builder.select(builder.fcmp_ordered(predicate, one, other), one, other)
        for one, other in ((left, right), (right, left))
    )
    return builder.bitcast(first, integers), builder.bitcast(second, integers)
