"""Overflow bounds of quasi-affine functions: generated code computes in 64 bits."""

from __future__ import annotations

import math

import islpy as isl

from polysched.ir.isl.extrema import as_int

LARGEST = 2**62
"""Largest absolute coefficient or constant: half the 64-bit range, which leaves room for sums."""

STEEPEST = 2**31
"""Largest growth rate with respect to the variables; safe for variables below 2**31."""


def is_moderate(function: isl.PwAff) -> bool:
    """Whether a function does not overflow 64 bits if its variables are below 2**31.

    Sufficient: its coefficients, constants and divisors are at most ``LARGEST``, and its growth
    rate is at most ``STEEPEST``.
    """
    return all(_growth(piece) <= STEEPEST for _, piece in function.get_pieces())


def _growth(function: isl.Aff) -> float:
    """Bound a function's growth rate with respect to its variables.

    The result is infinite if a coefficient, constant or divisor exceeds ``LARGEST``.
    """
    growth = 0.0
    numbers = [function.get_denominator_val(), function.get_constant_val()]
    for kind in (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div):
        for position in range(function.dim(kind)):
            coefficient = function.get_coefficient_val(kind, position)
            if coefficient.is_zero():
                continue
            numbers.append(coefficient)
            inner = _growth(function.get_div(position)) if kind == isl.dim_type.div else 1.0
            growth += inner * _numerator(coefficient) / as_int(coefficient.get_den_val())
    return growth if all(_numerator(number) <= LARGEST for number in numbers) else math.inf


def _numerator(number: isl.Val) -> int:
    if number.is_int():
        return abs(as_int(number))
    return abs(int(number.to_str().partition("/")[0]))
