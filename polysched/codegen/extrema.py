"""Minimum and maximum of floating-point numbers: NaN if one of them is, and -0 below +0.

They are made of the one comparison that processors have, ``a if a < b else b``, taken both ways.
The two answers differ in zeros of both signs and where there is a NaN only, and what is right then
follows from their bits: three instructions for a minimum, five for a maximum, where LLVM's
``llvm.minimum`` takes six on x86 and moves masks between registers.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.codegen.intrinsics import element_bits


def minimum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """The smaller number, of scalars or of each lane."""
    first, second = _both_ways(builder, "<", left, right)
    # Of zeros of both signs the sign bit of one is set; whatever a NaN is joined with, it stays
    # one, for its exponent has all bits set.
    return builder.bitcast(builder.or_(first, second), left.type)


def maximum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """The larger number, of scalars or of each lane."""
    first, second = _both_ways(builder, ">", left, right)
    # x - 0 is x, -0 - -0 is +0, and NaN minus anything is NaN.
    joined = builder.bitcast(builder.or_(first, second), left.type)
    apart = builder.bitcast(builder.xor(first, second), left.type)
    return builder.fsub(joined, apart)


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
