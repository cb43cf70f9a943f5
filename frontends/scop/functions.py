"""The functions of math.h and stdlib.h that a value may call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polysched.ir.dtypes import DType, f32, f64, i32, i64
from polysched.ir.expressions import Constant
from polysched.ir.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator


@dataclass(frozen=True)
class MathFunction:
    """A function: its operands are converted to ``dtype``, which its value has too."""

    operator: Operator
    operands: int
    dtype: DType


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
        "abs": MathFunction(Operator.ABSOLUTE, 1, i32),
        "labs": MathFunction(Operator.ABSOLUTE, 1, i64),
        "llabs": MathFunction(Operator.ABSOLUTE, 1, i64),
    }
)
"""By name. ``exp`` differs from the C library's by at most one unit in the last place, since whole
vectors of it are computed at once (`polysched/codegen/math`); all others are equal to the C
library's, bit for bit, unless ``--fast-math`` or ``FP_CONTRACT`` asks for speed: then most are
computed so.
"""

BUILTIN: Mapping[str, Constant] = MappingProxyType(
    {
        f"__builtin_{name}{suffix}": Constant(value, dtype)
        for name, value in (("inf", math.inf), ("huge_val", math.inf), ("nan", math.nan))
        for suffix, dtype in (("", f64), ("f", f32))
    }
)
"""What gcc's and clang's headers make of INFINITY, HUGE_VAL and NAN."""

KNOWN = tuple(sorted({*_REAL, "abs"}))
"""The functions of which messages tell, those of ``float`` and of ``long`` apart."""
