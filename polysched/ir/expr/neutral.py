"""Neutral elements: the initial values of reduction accumulators."""

from __future__ import annotations

import math

from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Number
from polysched.ir.expr.operators import Operator


def neutral_element(operator: Operator, dtype: DType) -> Constant:
    """The value ``e`` with ``e operator x == x`` for every number ``x`` of a type, bit for bit.

    Args:
        operator: a reduction operator: ``+``, ``*``, ``min``, ``max``, ``pmin``, ``pmax``,
            ``&``, ``|`` or ``^``.
    """
    return Constant(_value(operator, dtype), dtype)


def _value(operator: Operator, dtype: DType) -> Number:
    match operator:
        case Operator.ADD:
            # Not 0.0: 0.0 + -0.0 is 0.0, which would lose the sign of a -0.0.
            return -0.0 if dtype.is_float else 0
        case Operator.MULTIPLY:
            return 1.0 if dtype.is_float else 1
        case Operator.MINIMUM | Operator.PSEUDO_MINIMUM:
            return math.inf if dtype.is_float else dtype.highest
        case Operator.MAXIMUM | Operator.PSEUDO_MAXIMUM:
            return -math.inf if dtype.is_float else dtype.lowest
        case Operator.BIT_AND:
            return -1 if dtype.is_signed else (1 << dtype.bits) - 1
        case Operator.BIT_OR | Operator.BIT_XOR:
            return 0
        case _:
            raise ValueError(f"'{operator.value}' is not a reduction operator")
