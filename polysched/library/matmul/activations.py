"""Activation functions of the matmul epilogue, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from polysched.ir.expr.expressions import Expression, operation
from polysched.ir.expr.functions import exp, maximum
from polysched.ir.expr.operators import Operator

Activation: TypeAlias = Callable[[Expression], Expression]


def _sigmoid_times(factor: float | Expression, exponent: Expression) -> Expression:
    """``factor * sigmoid(exponent)``; 0 where ``exp(-exponent)`` overflows, which is its limit."""
    return factor / (exp(-exponent) + 1)


def _gelu_tanh(value: Expression) -> Expression:
    # (1 + tanh(u)) / 2 equals sigmoid(2 u), which takes fewer operations.
    return _sigmoid_times(value, value * (value * value * (_GELU * 0.044715) + _GELU))


_GELU = 2 * math.sqrt(2 / math.pi)
"""D. Hendrycks and K. Gimpel, "Gaussian error linear units" (2016), section 2."""

OF_INTEGERS: Mapping[str, Activation] = MappingProxyType({"relu": lambda value: maximum(value, 0)})
"""Activations that are defined for integers too."""

ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        **OF_INTEGERS,
        "gelu_tanh": _gelu_tanh,
        "sigmoid": lambda value: _sigmoid_times(1, value),
        "silu": lambda value: _sigmoid_times(value, value),
        "tanh": lambda value: operation(Operator.HYPERBOLIC_TANGENT, value),
    }
)
"""``gelu_tanh`` is the tanh approximation of GELU, ``silu`` is ``x * sigmoid(x)``."""
