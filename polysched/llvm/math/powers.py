"""Powers with a literal exponent that is a multiple of 1/2, on whole vectors, to the last bit.

A power is computed with more digits than its type has. Products, inverses and square roots of
doubles are pairs, the number and what its rounding left; a float is computed as a double. The C
library's result is then known, unless the exact power is so near to the middle of two numbers that
the library's own error decides. In these lanes, and for special values, the library is called:
about one lane in twenty.

The library's error is that of ARM's optimized routines, whose ``pow`` and ``powf`` glibc, musl and
Android have; their comments state it. Other exponents, and doubles on processors without FMA
instructions, call the C library.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.intrinsics import intrinsic, literal_value, vector_type
from polysched.llvm.math.fallback import or_called
from polysched.llvm.math.numbers import FLOAT32, FLOAT64, Format, Pair, Real, exact_sum

LARGEST = 12
"""Exponents with a larger magnitude call the C library: powers of 16 of floats
between 1e-3 and 1e3 were slower than its calls."""


@dataclass(frozen=True)
class _Library:
    """The C library's powers of one type.

    Attributes:
        error: the largest error before rounding, in ulp, of results near 1; it grows by
            ``error_of_doubling`` with each binary order of magnitude, up or down.
        largest: the binary orders of magnitude within which the pairs and the result are normal.
    """

    error: float
    error_of_doubling: float
    largest: int


_LIBRARY: Mapping[Format, _Library] = MappingProxyType(
    {
        # 2**24 * (1.69 * 2**-34 + e * log(2) * 1.83 * 2**-33)
        FLOAT32: _Library(error=0.002, error_of_doubling=0.0025, largest=120),
        # 0.011 + 2**53 * e * log(2) * 1.5 * 2**-68, without FMA instructions
        FLOAT64: _Library(error=0.012, error_of_doubling=0.000033, largest=880),
    }
)


def power(builder: ir.IRBuilder, operands: list[Any], features: Set[str]) -> Any:
    """Emit a number to the power of another one."""
    exponent = literal_value(operands[1])
    if exponent is None or not 0 < abs(exponent) <= LARGEST or not (2 * exponent).is_integer():
        return library_call(builder, "pow", operands)
    base = Real(builder, operands[0])
    if base.form is FLOAT64 and "fma" not in features:
        return library_call(builder, "pow", operands)
    if base.form is FLOAT64:
        result, rest = _power(base, exponent, _Exact())
        rounded = result
    else:
        precise, _ = _power(_wide(base), exponent, _Rounded())
        result = Real(builder, builder.fptrunc(precise.ir, base.ir.type))
        rounded = _wide(result)
        rest = precise - rounded
    known = _is_known(base, exponent, rounded, rest)
    return or_called("pow", operands, builder.not_(known), result).ir


def _is_known(base: Real, exponent: float, rounded: Real, rest: Real) -> Any:
    """Whether the C library rounds a power to the same number.

    Args:
        rounded: the rounded power, as a double.
        rest: the exact power less the rounded one.
    """
    library = _LIBRARY[base.form]
    # The numbers below a power of two have half the distance.
    order = (rounded.magnitude().bits - 1).without_last(FLOAT64.fraction_bits)
    digit = (order << FLOAT64.fraction_bits).real * 2.0**-base.form.fraction_bits
    orders = (order - FLOAT64.bias).number.magnitude()
    error = orders.times_plus(library.error_of_doubling, library.error)
    largest = 2.0 ** (library.largest / max(1.0, abs(exponent)))
    size = base.magnitude() if exponent.is_integer() else base
    builder = base.builder
    is_common = builder.and_(size.above(1 / largest), size.below(largest))
    return builder.and_(is_common, rest.magnitude().below((0.5 - error) * digit))


def _power(number: Real, exponent: float, arithmetic: _Rounded) -> Pair:
    base = number, number.of(0.0)
    factors = [] if exponent.is_integer() else [arithmetic.root(number)]
    if exponent < 0:
        base, factors = arithmetic.inverse(base), [arithmetic.inverse(root) for root in factors]
    whole = int(abs(exponent))
    while whole:
        if whole & 1:
            factors.append(base)
        whole >>= 1
        base = arithmetic.product(base, base) if whole else base
    return exact_sum(*reduce(arithmetic.product, factors))


def _wide(number: Real) -> Real:
    """A float as a double."""
    double: Any = ir.DoubleType()
    own = number.ir.type
    wide = vector_type(double, own.count) if isinstance(own, ir.VectorType) else double
    return Real(number.builder, number.builder.fpext(number.ir, wide))


class _Rounded:
    """Arithmetic on pairs whose second number is 0."""

    def product(self, left: Pair, right: Pair) -> Pair:
        return left[0] * right[0], left[1]

    def root(self, square: Real) -> Pair:
        return Real(square.builder, intrinsic(square.builder, "sqrt", [square.ir])), square.of(0.0)

    def inverse(self, divisor: Pair) -> Pair:
        return 1.0 / divisor[0], divisor[1]


class _Exact(_Rounded):
    """Arithmetic on pairs, with FMA instructions."""

    def product(self, left: Pair, right: Pair) -> Pair:
        total = left[0] * right[0]
        rest = _fused(left[0], right[0], -total)
        return total, _fused(left[0], right[1], _fused(left[1], right[0], rest))

    def root(self, square: Real) -> Pair:
        root, _ = super().root(square)
        return root, _fused(-root, root, square) / (root + root)

    def inverse(self, divisor: Pair) -> Pair:
        inverse = 1.0 / divisor[0]
        rest = _fused(divisor[0], inverse, inverse.of(-1.0))
        return inverse, -(_fused(divisor[1], inverse, rest) * inverse)


def _fused(first: Real, second: Real, third: Real) -> Real:
    """``first * second + third``, rounded once."""
    operands = [first.ir, second.ir, third.ir]
    return Real(first.builder, intrinsic(first.builder, "fma", operands))
