"""The logarithms to the bases e, 2 and 10.

``x = 2**k (1 + f)`` with ``1 + f`` between the roots of 1/2 and 2; then, after fdlibm (K. C. Ng,
1993; the bases 2 and 10 after FreeBSD's e_log2.c, S. G. Kargl and B. Evans):

- ``log(1 + f) = f - (f**2 / 2 - rest(f))``, where ``f`` is exact. For float64, ``rest = s (f**2 / 2
  + z R(z))`` with ``s = f / (2 + f)`` and ``z = s**2``. For float32, a polynomial takes less time
  than a division: ``rest = f**3 P(f)``. The coefficients are minimax fits of the relative error of
  log(1 + f) (Remez' algorithm in 36 digits, then rounded): 2**-59.5 and 2**-27.2.
- ``ln 2`` is split into a high part, whose product with ``k`` is exact, and a low part.
- For the other bases, ``f - f**2 / 2`` is truncated to half of its digits, so that its product with
  the first half of the factor is exact. The truncation error is added to the rest.

The error is below 1 ulp (measured: at most 0.87).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.math.numbers import FLOAT32, FLOAT64, Format, Pair, Real, exact_sum


@dataclass(frozen=True)
class _Base:
    """A base: the logarithms of e and of 2 to the base, each as a sum of two parts.

    The logarithm of e is None if the base is e; else its first part has half of the type's digits.
    The first part of the logarithm of 2 has so few digits that its product with any exponent is
    exact.
    """

    of_e: tuple[float, float] | None
    of_2: tuple[float, float]


@dataclass(frozen=True)
class _Constants:
    """The constants of one floating-point type; constant coefficients come first."""

    root: int
    rest: Sequence[float]
    natural: _Base
    binary: _Base
    decimal: _Base


_CONSTANTS: Mapping[Format, _Constants] = MappingProxyType(
    {
        FLOAT32: _Constants(
            root=0x3F3504F3,
            rest=(
                0.3333333,
                -0.2500082,
                0.20001227,
                -0.16623358,
                0.14201759,
                -0.1316018,
                0.12761594,
                -0.076345384,
            ),
            natural=_Base(None, (0.693145751953125, 1.4286068e-06)),
            binary=_Base((1.44287109375, -0.00017605285), (1.0, 0.0)),
            decimal=_Base((0.434326171875, -3.168997e-05), (0.301025390625, 4.605039e-06)),
        ),
        FLOAT64: _Constants(
            root=0x3FE6A09E667F3BCD,
            rest=(
                0.6666666666666734,
                0.39999999999416636,
                0.28571428742030164,
                0.22222198604799517,
                0.18183562866616076,
                0.15314084401532402,
                0.14795638225181376,
            ),
            natural=_Base(None, (0.6931471805601177, -1.7239444525614835e-13)),
            binary=_Base((1.4426950514316559, -1.0542692476429138e-08), (1.0, 0.0)),
            decimal=_Base(
                (0.4342944845557213, -2.6524694553078553e-09),
                (0.3010299956640665, -8.532344317057107e-14),
            ),
        ),
    }
)


def logarithm(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the natural logarithm of a float, a double or a vector."""
    x = Real(builder, operand)
    return _of_base(x, _CONSTANTS[x.form].natural).ir


def logarithm_2(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the logarithm to the base 2 of a float, a double or a vector."""
    x = Real(builder, operand)
    return _of_base(x, _CONSTANTS[x.form].binary).ir


def logarithm_10(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the logarithm to the base 10 of a float, a double or a vector."""
    x = Real(builder, operand)
    return _of_base(x, _CONSTANTS[x.form].decimal).ir


def _of_base(x: Real, base: _Base) -> Real:
    k, f = _split(x)
    square = f * f
    half = square * 0.5
    rest = _rest(f, square, half)
    if base.of_e is None:
        low = k.times_plus(base.of_2[1], rest)
        result = k.times_plus(base.of_2[0], f - (half - low))
    else:
        high = (f - half).first_digits()
        low = ((f - high) - half) + rest
        # The exponent's part is 0, or larger than the other summand.
        total, lost = exact_sum(k * base.of_2[0], high * base.of_e[0])
        lost = k.times_plus(base.of_2[1], lost) if base.of_2[1] else lost
        lost = (low + high).times_plus(base.of_e[1], lost)
        result = total + low.times_plus(base.of_e[0], lost)
    outside = x.of(-math.inf).where(x.equals(0.0), math.nan)
    return x.where(x.equals(math.inf), result.where(x.above(0.0), outside))


def _split(x: Real) -> Pair:
    """Emit ``k`` and ``f`` of the module's docstring, for numbers above 0."""
    form = x.form
    root = _CONSTANTS[form].root
    bits_of_one = form.bias << form.fraction_bits
    tiny = x.below(form.smallest_normal)
    shift = form.fraction_bits + 2
    x = (x * 2.0**shift).where(tiny, x)
    # The exponent increases by 1 at the square root of 2.
    moved = x.bits + (bits_of_one - root)
    mantissa = (moved & ((1 << form.fraction_bits) - 1)) + root
    # The integer is added to the last bits of a large number, so no conversion is needed.
    exponent = (moved.without_last(form.fraction_bits) + x.of(form.rounder).bits).real
    start = form.rounder + form.bias
    k = exponent - x.of(start + shift).where(tiny, start)
    return k, mantissa.real - 1.0


def _rest(f: Real, square: Real, half: Real) -> Real:
    coefficients = _CONSTANTS[f.form].rest
    if f.form is FLOAT32:
        return (square * f) * f.polynomial(coefficients)
    s = f / (f + 2.0)
    z = s * s
    return s * z.times_plus(z.polynomial(coefficients), half)
