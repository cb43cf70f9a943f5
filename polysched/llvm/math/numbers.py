"""Operator-overloaded floating-point LLVM values, in which elementary functions are written.

A :class:`Real` is an LLVM value of type float, double or a vector of them. ``a * b + c`` emits a
product and a sum. Scalars and vectors get the same instructions, and no operation may be reordered,
so vectorizing a loop changes no bit of its results.

A *pair* has more digits than a number: it is the unevaluated sum of a number and a much smaller
number, after T. J. Dekker, "A floating-point technique for extending the available precision",
Numerische Mathematik 18 (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.llvm.builder.intrinsics import constant, element_bits, intrinsic


@dataclass(frozen=True)
class Format:
    """A floating-point format: its total bits and its fraction bits."""

    bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        """The bias of stored exponents."""
        return (1 << (self.bits - self.fraction_bits - 2)) - 1

    @property
    def rounder(self) -> float:
        """1.5 times the smallest number above which all numbers are integers: adding it rounds."""
        return 1.5 * 2.0**self.fraction_bits

    @property
    def smallest_normal(self) -> float:
        """The smallest number that is not subnormal."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The mask of the sign bit."""
        return -1 << (self.bits - 1)

    @property
    def upper_half(self) -> int:
        """The mask of the sign, the exponent and the first half of the digits."""
        return -1 << (self.fraction_bits + 2) // 2


FLOAT32 = Format(32, 23)
FLOAT64 = Format(64, 52)


@dataclass(frozen=True, eq=False)
class Real:
    """A floating-point LLVM value with operators; Python numbers are constants of the same type."""

    builder: ir.IRBuilder
    ir: Any

    @property
    def form(self) -> Format:
        """The type's format."""
        return FLOAT32 if element_bits(self.ir.type) == 32 else FLOAT64

    def of(self, value: float) -> Real:
        """A constant of the same type."""
        return Real(self.builder, constant(self.ir.type, value))

    def __add__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fadd(self.ir, self._value(other)))

    def __sub__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fsub(self.ir, self._value(other)))

    def __rsub__(self, other: float) -> Real:
        return self.of(other) - self

    def __mul__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fmul(self.ir, self._value(other)))

    def __truediv__(self, other: Real | float) -> Real:
        return Real(self.builder, self.builder.fdiv(self.ir, self._value(other)))

    def __rtruediv__(self, other: float) -> Real:
        return self.of(other) / self

    def __neg__(self) -> Real:
        return Real(self.builder, self.builder.fneg(self.ir))

    def times_plus(self, factor: Real | float, addend: Real | float) -> Real:
        """Multiply and add, with one rounding if the target has an FMA instruction."""
        operands = [self.ir, self._value(factor), self._value(addend)]
        return Real(self.builder, intrinsic(self.builder, "fmuladd", operands))

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """Evaluate a polynomial by Horner's rule; the constant coefficient comes first."""
        total = self.of(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total

    def magnitude(self) -> Real:
        """The absolute value."""
        return Real(self.builder, intrinsic(self.builder, "fabs", [self.ir]))

    def with_sign_of(self, other: Real) -> Real:
        """The value with the sign of another value."""
        return Real(self.builder, intrinsic(self.builder, "copysign", [self.ir, other.ir]))

    def below(self, other: Real | float) -> Any:
        """Whether the value is smaller; false for NaN."""
        return self.builder.fcmp_ordered("<", self.ir, self._value(other))

    def above(self, other: Real | float) -> Any:
        """Whether the value is larger; false for NaN."""
        return self.builder.fcmp_ordered(">", self.ir, self._value(other))

    def equals(self, other: Real | float) -> Any:
        """Whether the values are equal; false for NaN."""
        return self.builder.fcmp_ordered("==", self.ir, self._value(other))

    def where(self, condition: Any, otherwise: Real | float) -> Real:
        """Select this value where the condition holds, else the other value."""
        chosen = self.builder.select(condition, self.ir, self._value(otherwise))
        return Real(self.builder, chosen)

    def at_most(self, highest: float) -> Real:
        """Clamp to an upper limit; NaN stays NaN."""
        return self.of(highest).where(self.above(highest), self)

    def at_least(self, lowest: float) -> Real:
        """Clamp to a lower limit; NaN stays NaN."""
        return self.of(lowest).where(self.below(lowest), self)

    def first_digits(self) -> Real:
        """Truncate to half of the digits: the product of two such values is exact."""
        return (self.bits & self.form.upper_half).real

    @property
    def bits(self) -> Whole:
        """The bits of the value as an integer."""
        integer: Any = ir.IntType(self.form.bits)
        own = self.ir.type
        type_ = ir.VectorType(integer, own.count) if isinstance(own, ir.VectorType) else integer
        return Whole(self.builder, self.builder.bitcast(self.ir, type_), own)

    def rounded(self, factor: float) -> tuple[Real, Whole]:
        """Round the product with a factor to an integer, as a floating-point number and as an
        integer.

        Adding a number so large that the sum has no fraction rounds the product. The last bits of
        the sum are the integer, so no conversion is needed; a conversion would be undefined for
        NaN.
        """
        rounder = self.of(self.form.rounder)
        shifted = self.times_plus(factor, rounder)
        return shifted - rounder, shifted.bits - rounder.bits

    def _value(self, other: Real | float) -> Any:
        return other.ir if isinstance(other, Real) else constant(self.ir.type, other)


@dataclass(frozen=True, eq=False)
class Whole:
    """An integer of the same width as a :class:`Real`, with the type of that value."""

    builder: ir.IRBuilder
    ir: Any
    float_type: Any

    def __add__(self, other: Whole | int) -> Whole:
        return self._made(self.builder.add(self.ir, self._value(other)))

    def __sub__(self, other: Whole | int) -> Whole:
        return self._made(self.builder.sub(self.ir, self._value(other)))

    def __and__(self, other: Whole | int) -> Whole:
        return self._made(self.builder.and_(self.ir, self._value(other)))

    def __xor__(self, other: Whole | int) -> Whole:
        return self._made(self.builder.xor(self.ir, self._value(other)))

    def __lshift__(self, bits: int) -> Whole:
        return self._made(self.builder.shl(self.ir, self._value(bits)))

    def __rshift__(self, bits: int) -> Whole:
        return self._made(self.builder.ashr(self.ir, self._value(bits)))

    def without_last(self, bits: int) -> Whole:
        """Logical shift to the right."""
        return self._made(self.builder.lshr(self.ir, self._value(bits)))

    def last(self, bits: int) -> Whole:
        """Move the last bits to the top and clear the others."""
        return self << self.real.form.bits - bits

    def is_odd_width(self) -> Any:
        """Whether the last bit is set."""
        return self.builder.icmp_unsigned("!=", (self & 1).ir, self._value(0))

    @property
    def real(self) -> Real:
        """The floating-point value that has these bits."""
        return Real(self.builder, self.builder.bitcast(self.ir, self.float_type))

    @property
    def number(self) -> Real:
        """The integer, of few digits, as a floating-point number."""
        rounder = self.real.of(self.real.form.rounder)
        return (self + rounder.bits).real - rounder

    @property
    def power_of_two(self) -> Real:
        """2 to the power of the integer, built in the exponent field; the result must be normal."""
        form = self.real.form
        return ((self + form.bias) << form.fraction_bits).real

    def _made(self, value: Any) -> Whole:
        return Whole(self.builder, value, self.float_type)

    def _value(self, other: Whole | int) -> Any:
        return other.ir if isinstance(other, Whole) else constant(self.ir.type, other)


Pair: TypeAlias = tuple[Real, Real]
"""The unevaluated sum of a number and a much smaller number."""


def exact_sum(larger: Real, smaller: Real) -> Pair:
    """The rounded sum of two numbers and its rounding error; the first has the larger magnitude."""
    total = larger + smaller
    return total, (larger - total) + smaller


def quotient(dividend: Pair, divisor: Pair, rounded: Real) -> Pair:
    """Divide two pairs: the result is a number of half the digits, and the rest.

    The remainder after the first half is exact, with and without FMA instructions, because both
    factors of the subtracted product have half the digits.

    Args:
        divisor: a pair whose first number has half the digits.
        rounded: the divisor rounded to a single number.
    """
    reciprocal = 1.0 / rounded
    first = (dividend[0] * reciprocal).first_digits()
    rest = (-first).times_plus(divisor[0], dividend[0])
    rest = (-first).times_plus(divisor[1], rest) + dividend[1]
    return first, rest * reciprocal
