"""Sine, cosine and tangent.

The argument is reduced to ``r = |x| - n pi / 2`` with ``n = round(|x| / (pi / 2))``, so that ``|r|
<= pi / 4``, after Cody and Waite: ``pi / 2`` is split into three parts with so few digits that
their products with ``n`` are exact, and a fourth part. The rounding error of ``r`` is kept. Then

- ``sin(r) = r + r z S(z)`` and ``cos(r) = 1 - z / 2 + z**2 C(z)``, ``z = r**2``, as in fdlibm. The
  coefficients are minimax fits of the relative error (Remez' algorithm in 36 digits, then
  rounded): 2**-26.8 and 2**-29.9 (float32), 2**-56.6 and 2**-59.4 (float64).
- The last bits of ``n`` select sine or cosine, and the sign. The tangent is the quotient of sine
  and cosine, both with more digits than the type has.

The reduction is exact only if ``n`` has few digits. If a lane has a larger argument, the C
library's function is called for it (`or_called`).

The error is below 1 ulp (measured: at most 0.80; for the tangent 0.94). The C library's tangent of
float32 has an error of up to 1.35 ulp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.math.fallback import or_called
from polysched.llvm.math.numbers import (
    FLOAT32,
    FLOAT64,
    Format,
    Pair,
    Real,
    Whole,
    exact_sum,
    quotient,
)

_RIGHT_ANGLES = 0.6366197723675814
"""Right angles in an arc of length 1."""


@dataclass(frozen=True)
class _Constants:
    """The constants of one floating-point type.

    ``largest``: the largest argument for which the products of ``n`` and the parts of
    ``right_angle`` are exact. Constant coefficients come first.
    """

    largest: float
    right_angle: tuple[float, float, float, float]
    sine: Sequence[float]
    cosine: Sequence[float]


_CONSTANTS: Mapping[Format, _Constants] = MappingProxyType(
    {
        FLOAT32: _Constants(
            largest=3216.0,
            right_angle=(
                1.57080078125,
                -4.454515874385834e-06,
                6.076561476220377e-11,
                5.390303e-15,
            ),
            sine=(-0.16666655, 0.008332158, -0.00019514958),
            cosine=(0.041666653, -0.0013887652, 2.4463501e-05),
        ),
        FLOAT64: _Constants(
            largest=1.6e6,
            right_angle=(
                1.5707963267341256,
                6.077100506303966e-11,
                2.0222662487111665e-21,
                8.4784276603689e-32,
            ),
            sine=(
                -0.1666666666666663,
                0.008333333333322061,
                -0.0001984126982954182,
                2.7557313604287867e-06,
                -2.505074500441343e-08,
                1.589606574718511e-10,
            ),
            cosine=(
                0.041666666666666595,
                -0.0013888888888872975,
                2.4801587288800326e-05,
                -2.7557314164052487e-07,
                2.0875698717687327e-09,
                -1.1358423940988302e-11,
            ),
        ),
    }
)


def sine(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the sine of a float, a double or a vector."""
    x = Real(builder, operand)
    turns, arc = _reduced(x.magnitude())
    value = _signed(_sine_or_cosine(arc, turns.is_odd_width()), turns.last(2), x)
    return _or_called("sin", x, value)


def cosine(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the cosine of a float, a double or a vector."""
    x = Real(builder, operand)
    size = x.magnitude()
    turns, arc = _reduced(size)
    turns = turns + 1
    value = _signed(_sine_or_cosine(arc, turns.is_odd_width()), turns.last(2), size)
    return _or_called("cos", x, value)


def tangent(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the tangent of a float, a double or a vector."""
    x = Real(builder, operand)
    turns, arc = _reduced(x.magnitude())
    across, along = _sine_and_cosine(arc)
    # Most of the cosine's error is the rounding error of the square, which an FMA computes.
    missed = arc[0].times_plus(arc[0], -(arc[0] * arc[0]))
    along = (along[0], missed.times_plus(-0.5, along[1]))
    odd = turns.is_odd_width()
    first, rest = (
        tangent_part.where(odd, cotangent_part)
        for tangent_part, cotangent_part in zip(across, along, strict=True)
    )
    over = exact_sum(along[0].where(odd, across[0]), along[1].where(odd, across[1]))
    cut = first.first_digits()
    high, low = quotient(over, (cut, (first - cut) + rest), first + rest)
    return _or_called("tan", x, _signed(high + low, turns.last(1), x))


def _reduced(size: Real) -> tuple[Whole, Pair]:
    """Reduce an arc: the number of right angles subtracted, and the remainder."""
    part_1, part_2, part_3, part_4 = _CONSTANTS[size.form].right_angle
    n, turns = size.rounded(_RIGHT_ANGLES)
    size = n.times_plus(-part_1, size)
    start = n.times_plus(-part_2, size)
    lost = n.times_plus(-part_2, size - start)
    r = n.times_plus(-part_3, start)
    lost = lost + n.times_plus(-part_3, start - r)
    return turns, (r, n.times_plus(-part_4, lost))


def _sine_and_cosine(arc: Pair) -> tuple[Pair, Pair]:
    r, lost = arc
    known = _CONSTANTS[r.form]
    z = r * r
    half = z * 0.5
    # 1 has the larger magnitude, so the rounding error of the difference is computed exactly.
    falling = 1.0 - half
    sine = (r * z).times_plus(z.polynomial(known.sine), lost * falling)
    cosine = (z * z).times_plus(z.polynomial(known.cosine), (1.0 - falling) - half)
    return (r, sine), (falling, (-r).times_plus(lost, cosine))


def _sine_or_cosine(arc: Pair, is_cosine: Any) -> Real:
    across, along = _sine_and_cosine(arc)
    return (along[0] + along[1]).where(is_cosine, across[0] + across[1])


def _signed(value: Real, flipping: Whole, x: Real) -> Real:
    """Flip the sign of a value if an argument is negative, and again if an integer is."""
    return (value.bits ^ ((flipping ^ x.bits) & value.form.sign)).real


def _or_called(name: str, x: Real, value: Real) -> Any:
    return or_called(name, [x.ir], x.magnitude().above(_CONSTANTS[x.form].largest), value).ir
