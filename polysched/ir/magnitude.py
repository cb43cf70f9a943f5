"""How large the numbers in a quasi-affine function are: generated code computes with 64 bits."""

from __future__ import annotations

import math

import islpy as isl

LARGEST = 2**62
"""Half of what 64 bits hold: room for the sums in which a number stands."""

STEEPEST = 2**31
"""How many times as fast as its variables a value may grow: variables below 2**31 are safe then."""


def is_moderate(function: isl.PwAff) -> bool:
    """Whether a function is computed with 64 bits where its variables are below 2**31.

    None of its coefficients, constants and divisors is beyond ``LARGEST``, and it grows no more
    than ``STEEPEST``.
    """
    return all(_growth(piece) <= STEEPEST for _, piece in function.get_pieces())


def _growth(function: isl.Aff) -> float:
    """How many times as fast as its variables a function grows at most; infinite with a number
    beyond ``LARGEST``.
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
            growth += inner * _numerator(coefficient) / coefficient.get_den_val().to_python()
    return growth if all(_numerator(number) <= LARGEST for number in numbers) else math.inf


def _numerator(number: isl.Val) -> int:
    return abs(int(number.to_str().partition("/")[0]))
