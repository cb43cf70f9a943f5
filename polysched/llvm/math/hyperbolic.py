"""The hyperbolic functions.

``tanh(x) = e / (e + 2)`` with ``e = exp(2 |x|) - 1``, as fdlibm has it for arguments that are not
small, here for all: ``e`` is computed with more digits than the type has, as the sum of two
numbers, and so is the quotient. The same operations give what is small, where ``e`` is ``2 |x|`` to
begin with, and what is nearly 1.

Sine and cosine are computed of ``h = (exp(|x|) - 1) / 4``, which is a number wherever they are, in
the same way: ``sinh(x) = 2 (h + h / (h + 1/4) / 4)`` and ``cosh(x) = 2 (g + 1 / (16 g))`` with
``g = h + 1/4``.

The error is below 1 ulp (measured: at most 0.76 of tanh, 0.74 of sinh, 0.88 of cosh).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.math.exponentials import exponential_parts
from polysched.llvm.math.numbers import (
    FLOAT32,
    FLOAT64,
    Format,
    Pair,
    Real,
    exact_sum,
    quotient,
)

_ONE_FROM: Mapping[Format, float] = MappingProxyType({FLOAT32: 9.25, FLOAT64: 19.25})
"""Where tanh is 1 as nearly as the type can say."""

_INFINITE_FROM: Mapping[Format, float] = MappingProxyType({FLOAT32: 89.5, FLOAT64: 710.6})
"""Where sinh and cosh are infinite, a little beyond of where they are first."""


def hyperbolic_tangent(builder: ir.IRBuilder, operand: Any) -> Any:
    """The LLVM value of the function of a float or double or a vector of them."""
    x = Real(builder, operand)
    size = x.magnitude().at_most(_ONE_FROM[x.form])
    scale, part, tail = exponential_parts(size + size)
    first, rest = exact_sum(scale - 1.0, part)
    grown = exact_sum(first, scale.times_plus(tail, rest))
    first, rest = _over_itself_plus(2.0, grown)
    return (first + rest).with_sign_of(x).ir


def hyperbolic_sine(builder: ir.IRBuilder, operand: Any) -> Any:
    """The LLVM value of the function of a float or double or a vector of them."""
    x = Real(builder, operand)
    size = x.magnitude()
    scale, part, tail = _quarter(size)
    whole, lost = exact_sum(scale, x.of(-0.25))
    first, rest = exact_sum(whole, part)
    quarter = exact_sum(first, scale.times_plus(tail, rest + lost))
    first, rest = _over_itself_plus(0.25, quarter)
    total, lost = exact_sum(quarter[0], first * 0.25)
    result = total + (rest.times_plus(0.25, quarter[1]) + lost)
    # A quarter of what is denormal has fewer digits.
    is_line = size.below(2.0 ** -(x.form.fraction_bits // 2 + 1))
    return size.where(is_line, result + result).with_sign_of(x).ir


def hyperbolic_cosine(builder: ir.IRBuilder, operand: Any) -> Any:
    """The LLVM value of the function of a float or double or a vector of them."""
    scale, part, tail = _quarter(Real(builder, operand).magnitude())
    first, rest = exact_sum(scale, part)
    rest = scale.times_plus(tail, rest)
    result = first + (rest + 0.0625 / (first + rest))
    return (result + result).ir


def _quarter(size: Real) -> tuple[Real, Real, Real]:
    """A quarter of exp(x) as a sum, for x up to where sinh and cosh overflow."""
    return exponential_parts(size.at_most(_INFINITE_FROM[size.form]), halvings=2)


def _over_itself_plus(number: float, pair: Pair) -> Pair:
    """The quotient of a pair that is not negative and its sum with a number."""
    value, rest = pair
    total = value + number
    first = total.first_digits()
    # This is exact, because the larger summand is at least half of what is taken off.
    cut = (value.at_least(number) - first) + value.at_most(number)
    return quotient(pair, (first, cut + rest), total)
