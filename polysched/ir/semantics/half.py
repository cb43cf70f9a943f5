"""Conversion of numbers to half types: rounded once, to nearest even; NaN stays NaN.

A NaN keeps its sign and the upper bits of its payload and becomes quiet, as in the conversions of
x86 processors and of C. Subnormal numbers are kept.
"""

from __future__ import annotations

import math

import numpy as np

from polysched.ir.expr.dtypes import DType, NumberKind

_QUIET = 0x0040
_BELOW_HALF = 0x7FFF


def half_bits(value: float | np.float32, dtype: DType) -> int:
    """Return the 16 bits of a number rounded to bf16 or f16.

    A number of f64 is rounded to odd first, which keeps the second rounding correct (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", IEEE Transactions on Computers 57, 2008). An f32 has at least two bits more than a half
    type, as that needs.
    """
    if dtype.kind is NumberKind.FLOAT:
        with np.errstate(all="ignore"):
            return int(np.float16(value).view(np.uint16))
    single = value if isinstance(value, np.float32) else _rounded_to_odd(float(value))
    bits = int(single.view(np.uint32))
    if np.isnan(single):
        return bits >> 16 | _QUIET
    return (bits + _BELOW_HALF + (bits >> 16 & 1)) >> 16


def _rounded_to_odd(value: float) -> np.float32:
    with np.errstate(all="ignore"):
        near = np.float32(value)
    if not math.isfinite(value) or float(near) == value:
        return near
    if int(near.view(np.uint32)) & 1:
        return near
    # Of infinity this is the largest number, which is odd.
    return np.float32(np.nextafter(near, np.float32(math.copysign(math.inf, value - float(near)))))
