"""Mapping from numpy functions to the operators of kernel expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.ir.expr.operators import Operator

NUMPY_FUNCTIONS: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {
        np.absolute: Operator.ABSOLUTE,
        np.arccos: Operator.ARC_COSINE,
        np.arccosh: Operator.INVERSE_HYPERBOLIC_COSINE,
        np.arcsin: Operator.ARC_SINE,
        np.arcsinh: Operator.INVERSE_HYPERBOLIC_SINE,
        np.arctan2: Operator.ARC_TANGENT_2,
        np.arctan: Operator.ARC_TANGENT,
        np.arctanh: Operator.INVERSE_HYPERBOLIC_TANGENT,
        np.cbrt: Operator.CUBE_ROOT,
        np.ceil: Operator.CEILING,
        np.cos: Operator.COSINE,
        np.cosh: Operator.HYPERBOLIC_COSINE,
        np.exp2: Operator.EXPONENTIAL_2,
        np.exp: Operator.EXPONENTIAL,
        np.expm1: Operator.EXPONENTIAL_MINUS_1,
        np.fabs: Operator.ABSOLUTE,
        np.floor: Operator.FLOOR,
        np.fmax: Operator.NUMBER_MAXIMUM,
        np.fmin: Operator.NUMBER_MINIMUM,
        np.fmod: Operator.FLOAT_REMAINDER,
        np.hypot: Operator.HYPOTENUSE,
        np.log1p: Operator.LOGARITHM_1_PLUS,
        np.log10: Operator.LOGARITHM_10,
        np.log2: Operator.LOGARITHM_2,
        np.log: Operator.LOGARITHM,
        np.maximum: Operator.MAXIMUM,
        np.minimum: Operator.MINIMUM,
        np.power: Operator.POWER,
        np.rint: Operator.ROUND_TO_EVEN,
        np.sin: Operator.SINE,
        np.sinh: Operator.HYPERBOLIC_SINE,
        np.sqrt: Operator.SQUARE_ROOT,
        np.tan: Operator.TANGENT,
        np.tanh: Operator.HYPERBOLIC_TANGENT,
        np.trunc: Operator.TRUNCATE,
    }
)
NUMPY_INTEGERS: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {
        np.absolute: Operator.ABSOLUTE,
        np.bitwise_and: Operator.BIT_AND,
        np.bitwise_or: Operator.BIT_OR,
        np.bitwise_xor: Operator.BIT_XOR,
        np.fmax: Operator.MAXIMUM,
        np.fmin: Operator.MINIMUM,
        np.fmod: Operator.REMAINDER,
        np.invert: Operator.BIT_NOT,
        np.left_shift: Operator.SHIFT_LEFT,
        np.maximum: Operator.MAXIMUM,
        np.minimum: Operator.MINIMUM,
        np.right_shift: Operator.SHIFT_RIGHT,
    }
)
"""Overrides for integer operands."""
NUMPY_OPERATORS: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {
        np.add: Operator.ADD,
        np.subtract: Operator.SUBTRACT,
        np.multiply: Operator.MULTIPLY,
        np.divide: Operator.DIVIDE,
        np.floor_divide: Operator.FLOOR_DIVIDE,
        np.remainder: Operator.MODULO,
        np.negative: Operator.NEGATE,
        np.less: Operator.LESS,
        np.less_equal: Operator.LESS_EQUAL,
        np.equal: Operator.EQUAL,
        np.not_equal: Operator.NOT_EQUAL,
        np.logical_and: Operator.AND,
        np.logical_or: Operator.OR,
        np.logical_not: Operator.NOT,
        np.bitwise_and: Operator.AND,
        np.bitwise_or: Operator.OR,
    }
)
"""Functions that operators call if the left operand is a numpy scalar: ``np.float32(2) * x[i]``."""
EXCHANGED: Mapping[Callable[..., Any], Operator] = MappingProxyType(
    {np.greater: Operator.LESS, np.greater_equal: Operator.LESS_EQUAL}
)
"""Functions that map to an operator with swapped operands."""
