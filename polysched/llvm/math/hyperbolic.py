"""The hyperbolic functions.

``tanh(x) = e / (e + 2)`` with ``e = exp(2 |x|) - 1``. fdlibm uses this formula for arguments that
are not small; here it is used for all arguments, because ``e`` and the quotient are sums of two
numbers, with more digits than the type has. The same operations are accurate for small results,
where ``e`` is nearly ``2 |x|``, and for results that are nearly 1.

Hyperbolic sine and cosine are computed in the same way from ``h = (exp(|x|) - 1) / 4``, which is
finite wherever they are finite: ``sinh(x) = 2 (h + h / (h + 1/4) / 4)`` and ``cosh(x) = 2 (g + 1 /
(16 g))`` with ``g = h + 1/4``.

The error is below 1 ulp (measured: at most 0.76 for tanh, 0.74 for sinh, 0.88 for cosh).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.math.exponentials import exponential_parts
from polysched.llvm.math.numbers import FLOAT32, FLOAT64, Format, Pair, Real, exact_sum, quotient

_ONE_FROM: Mapping[Format, float] = MappingProxyType({FLOAT32: 9.25, FLOAT64: 19.25})
"""Argument above which tanh rounds to 1, by type."""

_INFINITE_FROM: Mapping[Format, float] = MappingProxyType({FLOAT32: 89.5, FLOAT64: 710.6})
"""Argument above which sinh and cosh are infinite, slightly rounded up, by type."""


def hyperbolic_tangent(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the hyperbolic tangent of a float, a double or a vector."""
    x = Real(builder, operand)
    size = x.magnitude().at_most(_ONE_FROM[x.form])
    scale, part, tail = exponential_parts(size + size)
    first, rest = exact_sum(scale - 1.0, part)
    grown = exact_sum(first, scale.times_plus(tail, rest))
    first, rest = _over_itself_plus(2.0, grown)
    return (first + rest).with_sign_of(x).ir


def hyperbolic_sine(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the hyperbolic sine of a float, a double or a vector."""
    x = Real(builder, operand)
    size = x.magnitude()
    scale, part, tail = _quarter(size)
    whole, lost = exact_sum(scale, x.of(-0.25))
    first, rest = exact_sum(whole, part)
    quarter = exact_sum(first, scale.times_plus(tail, rest + lost))
    first, rest = _over_itself_plus(0.25, quarter)
    total, lost = exact_sum(quarter[0], first * 0.25)
    result = total + (rest.times_plus(0.25, quarter[1]) + lost)
    # A quarter of a subnormal number has fewer digits.
    is_line = size.below(2.0 ** -(x.form.fraction_bits // 2 + 1))
    return size.where(is_line, result + result).with_sign_of(x).ir


def hyperbolic_cosine(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the hyperbolic cosine of a float, a double or a vector."""
    scale, part, tail = _quarter(Real(builder, operand).magnitude())
    first, rest = exact_sum(scale, part)
    rest = scale.times_plus(tail, rest)
    result = first + (rest + 0.0625 / (first + rest))
    return (result + result).ir


def _quarter(size: Real) -> tuple[Real, Real, Real]:
    """Emit a quarter of exp(x) as a sum, for x up to the overflow of sinh and cosh."""
    return exponential_parts(size.at_most(_INFINITE_FROM[size.form]), halvings=2)


def _over_itself_plus(number: float, pair: Pair) -> Pair:
    """Emit ``pair / (pair + number)`` for a pair that is not negative."""
    value, rest = pair
    total = value + number
    first = total.first_digits()
    # The subtraction is exact, because the larger summand is at least half of the subtrahend.
    cut = (value.at_least(number) - first) + value.at_most(number)
    return quotient(pair, (first, cut + rest), total)
