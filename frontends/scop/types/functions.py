"""Functions of math.h and stdlib.h that values may call."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, f32, f64, i32, i64
from polysched.ir.expr.expressions import Constant, Expression, operation
from polysched.ir.expr.functions import absolute, cast, equal, not_equal
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator


@dataclass(frozen=True)
class MathFunction:
    """Math function.

    Attributes:
        dtype: the type of the operands, after conversion, and of the operator's value.
        result: the type that the value is converted to; None if it keeps its type.
    """

    operator: Operator
    operands: int
    dtype: DType
    result: DType | None = None


_REAL: Mapping[str, tuple[Operator, int]] = MappingProxyType(
    {
        "sqrt": (Operator.SQUARE_ROOT, 1),
        "fabs": (Operator.ABSOLUTE, 1),
        "exp": (Operator.EXPONENTIAL, 1),
        "floor": (Operator.FLOOR, 1),
        "ceil": (Operator.CEILING, 1),
        "trunc": (Operator.TRUNCATE, 1),
        "rint": (Operator.ROUND_TO_EVEN, 1),
        "round": (Operator.ROUND_HALF_AWAY, 1),
        "nearbyint": (Operator.ROUND_TO_EVEN, 1),
        "fmin": (Operator.NUMBER_MINIMUM, 2),
        "fmax": (Operator.NUMBER_MAXIMUM, 2),
        "fma": (Operator.FMA, 3),
        **{operator.value: (operator, 1) for operator in LIBRARY_UNARY},
        **{operator.value: (operator, 2) for operator in LIBRARY_BINARY},
    }
)

FUNCTIONS: Mapping[str, MathFunction] = MappingProxyType(
    {
        **{name: MathFunction(*meaning, f64) for name, meaning in _REAL.items()},
        **{f"{name}f": MathFunction(*meaning, f32) for name, meaning in _REAL.items()},
        **{
            f"{long}{name}{suffix}": MathFunction(*_REAL[name], dtype, i64)
            for name in ("rint", "round")
            for long in ("l", "ll")
            for suffix, dtype in (("", f64), ("f", f32))
        },
        "abs": MathFunction(Operator.ABSOLUTE, 1, i32),
        "labs": MathFunction(Operator.ABSOLUTE, 1, i64),
        "llabs": MathFunction(Operator.ABSOLUTE, 1, i64),
    }
)
"""Supported functions by name. ``exp`` is vectorized (`polysched/llvm/math`) and differs from
the C library by at most 1 ulp. All other functions equal the C library bit for bit, unless
``--fast-math`` or ``FP_CONTRACT`` is on: then most of them are vectorized too.
"""

BUILTIN: Mapping[str, Constant] = MappingProxyType(
    {
        f"__builtin_{name}{suffix}": Constant(value, dtype)
        for name, value in (("inf", math.inf), ("huge_val", math.inf), ("nan", math.nan))
        for suffix, dtype in (("", f64), ("f", f32))
    }
)
"""Builtins that gcc's and clang's headers expand INFINITY, HUGE_VAL and NAN to."""


def _is_nan(value: Expression) -> Expression:
    return not_equal(value, value)


def _infinite_sign(value: Expression) -> Expression:
    """Return 1 for infinity, -1 for minus infinity, and 0, as glibc's isinf does."""
    infinity = Constant(math.inf, value.dtype)
    least = Constant(-math.inf, value.dtype)
    return cast(equal(value, infinity), i32) - cast(equal(value, least), i32)


def _is_infinite(value: Expression) -> Expression:
    return equal(absolute(value), Constant(math.inf, value.dtype))


def _is_finite(value: Expression) -> Expression:
    return absolute(value) < Constant(math.inf, value.dtype)


CLASSES: Mapping[str, Callable[[Expression], Expression]] = MappingProxyType(
    {
        **dict.fromkeys(("isnan", "__builtin_isnan", "isnanf"), _is_nan),
        **dict.fromkeys(("isinf", "__builtin_isinf_sign", "isinff"), _infinite_sign),
        "__builtin_isinf": _is_infinite,
        **dict.fromkeys(("isfinite", "__builtin_isfinite", "finite"), _is_finite),
    }
)
"""Classifications of a floating-point number, by the names of the C library and of compilers."""

KNOWN = tuple(sorted({*_REAL, "abs", "lrint", "lround", "isfinite", "isinf", "isnan"}))
"""Functions that error messages list, without the variants for ``float`` and ``long``."""


def power(base: Expression, exponent: Expression) -> Expression:
    """Return ``pow(base, exponent)``, where optimizing C compilers multiply or divide if they may.

    Those results are correctly rounded, as the C library's are in nearly all cases.
    """
    match exponent:
        case Constant(value=2):
            return operation(Operator.MULTIPLY, base, base)
        case Constant(value=1):
            return base
        case Constant(value=-1):
            return operation(Operator.DIVIDE, Constant(1.0, exponent.type), base)
    return operation(Operator.POWER, base, exponent)
