"""The exponential function as a few operations on whole vectors, in place of calls lane by lane.

``exp(x) = 2**n * exp(r)`` with ``n = round(x / ln 2)`` and ``r = x - n ln 2``, ``|r| <= ln 2 / 2``,
after W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 6:

- ``n`` is rounded by adding a number so large that the sum has no fraction; its last bits are ``n``
  then, an integer without a conversion, which for NaN would be undefined.
- ``ln 2`` is a high part with so few digits that ``n`` times it is exact, and a low part: those of
  the Cephes library (float32) and of fdlibm (float64).
- ``exp(r) = 1 + r + r**2 (1/2 + r q(r))``. The coefficients of ``q`` are a minimax fit of the
  relative error of ``exp(r)`` (Remez' algorithm in 60 digits, then rounded): it is 2**-28.0
  (float32) and 2**-57.4 (float64).
- ``2**n`` is multiplied in two halves, each put together in the exponent field. The first product
  is exact and only the second one rounds: results that are denormal, or overflow, are right too.

``x`` is clamped first to where results are 0 and infinity; a comparison with NaN fails, so NaN
stays. The error is below 1 ulp (measured: at most 0.9 ulp). Scalars are computed by the same
operations, so that vectorising a loop changes no bit of its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.codegen.intrinsics import constant, intrinsic


@dataclass(frozen=True)
class _Format:
    """The constants of one floating-point type.

    ``lowest`` and ``highest``: arguments with the results 0 and infinity. ``rounder``: 1.5 times
    the number from which on all numbers are integers. ``q``: the coefficients, constant one first.
    """

    bits: int
    fraction_bits: int
    bias: int
    lowest: float
    highest: float
    rounder: float
    ln2_high: float
    ln2_low: float
    q: Sequence[float]


_LOG2_E = 1.4426950408889634

_FLOAT32 = _Format(
    bits=32,
    fraction_bits=23,
    bias=127,
    lowest=-105.0,
    highest=89.0,
    rounder=1.5 * 2**23,
    ln2_high=0.693359375,
    ln2_low=-2.12194440e-4,
    q=(0.16666535, 0.041667238, 0.00836751, 0.0013863757),
)
_FLOAT64 = _Format(
    bits=64,
    fraction_bits=52,
    bias=1023,
    lowest=-746.0,
    highest=710.0,
    rounder=1.5 * 2**52,
    ln2_high=6.93147180369123816490e-01,
    ln2_low=1.90821492927058770002e-10,
    q=(
        0.16666666666666433,
        0.04166666666660375,
        0.00833333333350058,
        0.00138888889268915,
        0.00019841269465308703,
        2.4801508550630693e-05,
        2.7557641378832717e-06,
        2.7625243887817994e-07,
        2.497832567092723e-08,
    ),
)


def exponential(builder: ir.IRBuilder, operand: Any) -> Any:
    """The LLVM value of e to the power of an operand, a float or double or a vector of them."""
    type_ = operand.type
    is_vector = isinstance(type_, ir.VectorType)
    element = type_.element if is_vector else type_
    form = _FLOAT32 if isinstance(element, ir.FloatType) else _FLOAT64
    integer: Any = ir.IntType(form.bits)
    integers = ir.VectorType(integer, type_.count) if is_vector else integer

    def number(value: float) -> Any:
        return constant(type_, value)

    def multiply_add(left: Any, right: Any, addend: Any) -> Any:
        # Rounds once where the target can do that in one instruction, else twice.
        return intrinsic(builder, "fmuladd", [left, right, addend])

    x = _clamped(builder, operand, number(form.lowest), number(form.highest))
    rounder = number(form.rounder)
    shifted = multiply_add(x, number(_LOG2_E), rounder)
    n = builder.fsub(shifted, rounder)
    r = multiply_add(n, number(-form.ln2_high), x)
    r = multiply_add(n, number(-form.ln2_low), r)
    power = number(form.q[-1])
    for coefficient in (*reversed(form.q[:-1]), 0.5, 1.0, 1.0):
        power = multiply_add(power, r, number(coefficient))

    whole = builder.sub(builder.bitcast(shifted, integers), builder.bitcast(rounder, integers))
    half = builder.ashr(whole, constant(integers, 1))
    for part in (half, builder.sub(whole, half)):
        biased = builder.add(part, constant(integers, form.bias))
        scale = builder.shl(biased, constant(integers, form.fraction_bits))
        power = builder.fmul(power, builder.bitcast(scale, type_))
    return power


def _clamped(builder: ir.IRBuilder, value: Any, lowest: Any, highest: Any) -> Any:
    """The value between two limits; NaN stays NaN."""
    value = builder.select(builder.fcmp_ordered("<", highest, value), highest, value)
    return builder.select(builder.fcmp_ordered("<", value, lowest), lowest, value)
