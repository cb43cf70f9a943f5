"""The arc tangent.

``atan(x) = c + atan(t)``, after S. L. Moshier's Cephes library, with other limits: ``c = 0`` and
``t = x`` up to tan(1/2), ``c = pi / 2`` and ``t = -1 / x`` from cot(1/2) on, and between the limits
``c = pi / 4`` and ``t = (x - 1) / (x + 1)``. In the middle range ``x - 1`` is exact, and ``t`` is
so much smaller than the result that its rounding error has little effect. The function takes one
division.

``atan(t) = t + t z P(z)`` with ``z = t**2``; the coefficients are a minimax fit of the relative
error (Remez' algorithm in 36 digits, then rounded): 2**-28.7 (float32) and 2**-56.8 (float64).
The error is below 1 ulp (measured: at most 0.92).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.math.numbers import FLOAT32, FLOAT64, Format, Real, exact_sum

_LOW = 0.546302489843790513
_HIGH = 1.830487721712452


@dataclass(frozen=True)
class _Constants:
    """The constants of one floating-point type.

    The angles of 90 and of 45 degrees are sums of two parts. The constant coefficient comes first.
    """

    right_angle: tuple[float, float]
    half: tuple[float, float]
    coefficients: Sequence[float]


_CONSTANTS: Mapping[Format, _Constants] = MappingProxyType(
    {
        FLOAT32: _Constants(
            right_angle=(1.5707963705062866, -4.371138828673793e-08),
            half=(0.7853981852531433, -2.1855694143368964e-08),
            coefficients=(
                -0.33333316,
                0.19998908,
                -0.14261137,
                0.108520515,
                -0.07658516,
                0.03431618,
            ),
        ),
        FLOAT64: _Constants(
            right_angle=(1.5707963267948966, 6.123233995736766e-17),
            half=(0.7853981633974483, 3.061616997868383e-17),
            coefficients=(
                -0.3333333333333317,
                0.19999999999956847,
                -0.1428571428166071,
                0.11111110918876639,
                -0.0909090369669589,
                0.07692210007907009,
                -0.06665464457618842,
                0.058719818380935256,
                -0.051993920509304056,
                0.04480935709435729,
                -0.0346399139109972,
                0.02035818923505279,
                -0.006425654922934605,
            ),
        ),
    }
)


def arc_tangent(builder: ir.IRBuilder, operand: Any) -> Any:
    """Emit the arc tangent of a float, a double or a vector."""
    x = Real(builder, operand)
    known = _CONSTANTS[x.form]
    size = x.magnitude()
    middle, high = size.above(_LOW), size.above(_HIGH)
    over = x.of(-1.0).where(high, (size - 1.0).where(middle, size))
    under = size.where(high, (size + 1.0).where(middle, 1.0))
    start, rest = (
        x.of(whole).where(high, x.of(half).where(middle, 0.0))
        for whole, half in zip(known.right_angle, known.half, strict=True)
    )
    t = over / under
    z = t * t
    total, lost = exact_sum(start, t)
    bend = (t * z).times_plus(z.polynomial(known.coefficients), rest)
    return (total + (bend + lost)).with_sign_of(x).ir
