"""Powers with a literal exponent that is a multiple of 1/2, on whole vectors.

Results are correctly rounded in nearly all cases, as the C library's are: the error is below 0.51
ulp, except 1.4 ulp for the exponent -0.5 of subnormal numbers. Products, inverses and square roots
are pairs, the number and what its rounding left, and only the last sum is rounded. Where the number
is infinite, the rest is NaN, and the number alone is the result. A float is computed as a double.
Other exponents, and processors without FMA instructions, call the C library.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.intrinsics import Splat, element_bits, intrinsic, vector_type
from polysched.llvm.math.numbers import Pair, Real

LARGEST = 16
"""Exponents with a larger magnitude call the C library: a power of 16 takes 4 products of pairs."""


def power(builder: ir.IRBuilder, values: list[Any], features: Set[str]) -> Any:
    """Emit a number to the power of another one."""
    base, exponent = values[0], _literal(values[1])
    if exponent is None or not 0 < abs(exponent) <= LARGEST or not (2 * exponent).is_integer():
        return library_call(builder, "pow", values)
    if element_bits(base.type) == 32:
        double: Any = ir.DoubleType()
        lanes = base.type.count if isinstance(base.type, ir.VectorType) else None
        wide = builder.fpext(base, double if lanes is None else vector_type(double, lanes))
        return builder.fptrunc(_power(Real(builder, wide), exponent, is_rounded=True), base.type)
    if "fma" not in features:
        return library_call(builder, "pow", values)
    return _power(Real(builder, base), exponent, is_rounded=False)


def _power(number: Real, exponent: float, *, is_rounded: bool) -> Any:
    """A power of doubles.

    Args:
        is_rounded: whether the rests of pairs do not count.
    """
    is_root = not exponent.is_integer()
    if is_root:  # the powers of -0 and of -infinity are those of 0 and infinity
        number = number + 0.0
        number = number.magnitude().where(number.equals(float("-inf")), number)
    arithmetic = _Rounded() if is_rounded else _Exact()
    base = number, number.of(0.0)
    factors = [arithmetic.root(number)] if is_root else []
    if exponent < 0:
        base, factors = arithmetic.inverse(base), [arithmetic.inverse(root) for root in factors]
    whole = int(abs(exponent))
    while whole:
        if whole & 1:
            factors.append(base)
        whole >>= 1
        base = arithmetic.product(base, base) if whole else base
    result = factors[0]
    for factor in factors[1:]:
        result = arithmetic.product(result, factor)
    if is_rounded:
        return result[0].ir
    total = (result[0] + result[1]).with_sign_of(result[0])  # of zeros
    return total.where(total.equals(total), result[0]).ir


def _literal(value: Any) -> float | None:
    lane = value.lane if isinstance(value, Splat) else value
    number = lane.constant if isinstance(lane, ir.Constant) else None
    return float(number) if isinstance(number, int | float) else None


class _Rounded:
    """Arithmetic on pairs whose second number is 0."""

    def product(self, left: Pair, right: Pair) -> Pair:
        return left[0] * right[0], left[1]

    def root(self, of: Real) -> Pair:
        return Real(of.builder, intrinsic(of.builder, "sqrt", [of.ir])), of.of(0.0)

    def inverse(self, of: Pair) -> Pair:
        return 1.0 / of[0], of[1]


class _Exact(_Rounded):
    """Arithmetic on pairs."""

    def product(self, left: Pair, right: Pair) -> Pair:
        total = left[0] * right[0]
        rest = _fused(left[0], right[0], -total)
        return total, _fused(left[0], right[1], _fused(left[1], right[0], rest))

    def root(self, of: Real) -> Pair:
        root, _ = super().root(of)
        return root, _fused(-root, root, of) / (root + root)

    def inverse(self, of: Pair) -> Pair:
        inverse = 1.0 / of[0]
        rest = _fused(of[0], inverse, inverse.of(-1.0))
        return inverse, -(_fused(of[1], inverse, rest) * inverse)


def _fused(first: Real, second: Real, third: Real) -> Real:
    """``first * second + third``, rounded once."""
    operands = [first.ir, second.ir, third.ir]
    return Real(first.builder, intrinsic(first.builder, "fma", operands))
