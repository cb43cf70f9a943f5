"""Saturating conversion to integer types."""

from __future__ import annotations

import numpy as np

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import Expression, Operand, as_expression, in_arithmetic
from polysched.ir.expr.functions import cast, maximum, minimum


def saturate(value: Operand, dtype: DType | str) -> Expression:
    """Convert a value to an integer type; values out of range become the nearest limit.

    Fractions are truncated, as in ``cast``; NaN becomes the type's smallest value.

    Raises:
        KernelError: the type is not an integer type, or the value is an untyped literal or a
            boolean.
    """
    target, operand = as_dtype(dtype), in_arithmetic(as_expression(value))
    source = operand.dtype
    if not target.is_integer:
        raise KernelError(f"saturate({operand}, {target}): expected an integer type to convert to")
    if source is None or not (source.is_float or source.is_integer):
        raise KernelError(
            f"saturate({operand}, {target}): the value is {source or 'a literal'}; expected a "
            "typed number, such as an array element"
        )
    lowest, highest = target.lowest, target.highest
    if source.is_integer:
        lowest, highest = max(lowest, source.lowest), min(highest, source.highest)
        return cast(minimum(maximum(operand, lowest), highest), target)
    ends = float(lowest), _round_down(highest, source)
    return cast(minimum(maximum(operand, ends[0]), ends[1]), target)


def _round_down(limit: int, dtype: DType) -> float:
    """The largest floating-point number of a type that is at most ``limit``."""
    kind = dtype.numpy().type
    nearest = kind(limit)
    return float(nearest if int(nearest) <= limit else np.nextafter(nearest, kind(0)))
