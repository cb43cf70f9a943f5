"""What the elementary functions are written in: floating-point values with operators.

A :class:`Real` is an LLVM value, a float or double or a vector of them; ``a * b + c`` of such
values emits a product and a sum. The same instructions are emitted for scalars and for vectors, so
that vectorizing a loop changes no bit of its results, and no operation is free to be reordered.

Where one format is too short a value is a *pair*, the unevaluated sum of a number and a much
smaller one, after T. J. Dekker, "A floating-point technique for extending the available precision",
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
    """A floating-point type: how many bits it has, and how many of them are the fraction."""

    bits: int
    fraction_bits: int

    @property
    def bias(self) -> int:
        """What is added to an exponent that is stored."""
        return (1 << (self.bits - self.fraction_bits - 2)) - 1

    @property
    def rounder(self) -> float:
        """1.5 times the number from which on all numbers are integers: adding it rounds."""
        return 1.5 * 2.0**self.fraction_bits

    @property
    def smallest_normal(self) -> float:
        """The smallest number that is not denormal."""
        return 2.0 ** (1 - self.bias)

    @property
    def sign(self) -> int:
        """The mask of a number's sign."""
        return -1 << (self.bits - 1)

    @property
    def upper_half(self) -> int:
        """The mask of a number's sign, exponent and first half of its digits."""
        return -1 << (self.fraction_bits + 2) // 2


FLOAT32 = Format(32, 23)
FLOAT64 = Format(64, 52)


@dataclass(frozen=True, eq=False)
class Real:
    """A floating-point value that is computed with; plain numbers beside it are constants."""

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
        """The product and a sum: rounded once where the target can do that in one instruction."""
        operands = [self.ir, self._value(factor), self._value(addend)]
        return Real(self.builder, intrinsic(self.builder, "fmuladd", operands))

    def polynomial(self, coefficients: Sequence[float]) -> Real:
        """The polynomial with these coefficients, the constant one first, by Horner's rule."""
        total = self.of(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = total.times_plus(self, coefficient)
        return total

    def magnitude(self) -> Real:
        """The value without its sign."""
        return Real(self.builder, intrinsic(self.builder, "fabs", [self.ir]))

    def with_sign_of(self, other: Real) -> Real:
        """The value with the sign of another."""
        return Real(self.builder, intrinsic(self.builder, "copysign", [self.ir, other.ir]))

    def below(self, other: Real | float) -> Any:
        """Whether it is smaller; what is compared with NaN is not."""
        return self.builder.fcmp_ordered("<", self.ir, self._value(other))

    def above(self, other: Real | float) -> Any:
        """Whether it is larger; what is compared with NaN is not."""
        return self.builder.fcmp_ordered(">", self.ir, self._value(other))

    def equals(self, other: Real | float) -> Any:
        """Whether it is the same number."""
        return self.builder.fcmp_ordered("==", self.ir, self._value(other))

    def where(self, condition: Any, otherwise: Real | float) -> Real:
        """This value where the condition holds, else the other."""
        chosen = self.builder.select(condition, self.ir, self._value(otherwise))
        return Real(self.builder, chosen)

    def at_most(self, highest: float) -> Real:
        """The value, or the limit if that is smaller; NaN stays NaN."""
        return self.of(highest).where(self.above(highest), self)

    def at_least(self, lowest: float) -> Real:
        """The value, or the limit if that is larger; NaN stays NaN."""
        return self.of(lowest).where(self.below(lowest), self)

    def first_digits(self) -> Real:
        """The value cut to half of its digits: the product of two such values is exact."""
        return (self.bits & self.form.upper_half).real

    @property
    def bits(self) -> Whole:
        """The bits of the value as an integer."""
        integer: Any = ir.IntType(self.form.bits)
        own = self.ir.type
        type_ = ir.VectorType(integer, own.count) if isinstance(own, ir.VectorType) else integer
        return Whole(self.builder, self.builder.bitcast(self.ir, type_), own)

    def rounded(self, factor: float) -> tuple[Real, Whole]:
        """The nearest integer to the product with a factor, as a number and as an integer.

        A number so large that the sum has no fraction is added. Its last bits are the integer, made
        without a conversion, which would be undefined for NaN.
        """
        rounder = self.of(self.form.rounder)
        shifted = self.times_plus(factor, rounder)
        return shifted - rounder, shifted.bits - rounder.bits

    def _value(self, other: Real | float) -> Any:
        return other.ir if isinstance(other, Real) else constant(self.ir.type, other)


@dataclass(frozen=True, eq=False)
class Whole:
    """An integer as wide as a :class:`Real`, of whose type it knows."""

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

    def __lshift__(self, places: int) -> Whole:
        return self._made(self.builder.shl(self.ir, self._value(places)))

    def __rshift__(self, places: int) -> Whole:
        return self._made(self.builder.ashr(self.ir, self._value(places)))

    def without_last(self, places: int) -> Whole:
        """Shifted to the right as an unsigned integer."""
        return self._made(self.builder.lshr(self.ir, self._value(places)))

    def last(self, bits: int) -> Whole:
        """The last bits alone, as the first ones."""
        return self << self.real.form.bits - bits

    def is_odd_width(self) -> Any:
        """Whether its last bit is set."""
        return self.builder.icmp_unsigned("!=", (self & 1).ir, self._value(0))

    @property
    def real(self) -> Real:
        """The floating-point value that has these bits."""
        return Real(self.builder, self.builder.bitcast(self.ir, self.float_type))

    @property
    def power_of_two(self) -> Real:
        """2 to this power, put together in the exponent field; it must be that of a normal."""
        form = self.real.form
        return ((self + form.bias) << form.fraction_bits).real

    def _made(self, value: Any) -> Whole:
        return Whole(self.builder, value, self.float_type)

    def _value(self, other: Whole | int) -> Any:
        return other.ir if isinstance(other, Whole) else constant(self.ir.type, other)


Pair: TypeAlias = tuple[Real, Real]
"""The sum of a number and a much smaller one."""


def scaled(value: Real, power: Whole) -> Real:
    """The value times 2 to a power, in two halves.

    The first product is exact and only the second one rounds: results that are denormal, or
    overflow, are right too.
    """
    half = power >> 1
    return value * half.power_of_two * (power - half).power_of_two


def exact_sum(larger: Real, smaller: Real) -> Pair:
    """The sum of two numbers, the first one not smaller than the second, and its rounding error."""
    total = larger + smaller
    return total, (larger - total) + smaller


def quotient(dividend: Pair, divisor: Pair, rounded: Real) -> Pair:
    """The quotient of two pairs: a number of half the digits, and the rest.

    What the first half leaves over is exact, with and without instructions that round once: both
    factors of the product that is taken away have half the digits.

    Args:
        divisor: its first number has half the digits.
        rounded: the divisor as one number.
    """
    reciprocal = 1.0 / rounded
    first = (dividend[0] * reciprocal).first_digits()
    rest = (-first).times_plus(divisor[0], dividend[0])
    rest = (-first).times_plus(divisor[1], rest) + dividend[1]
    return first, rest * reciprocal
