"""Conversions to narrow integers that take the nearest value instead of wrapping."""

from __future__ import annotations

import numpy as np

from polysched.errors import KernelError
from polysched.ir.dtypes import DType, as_dtype
from polysched.ir.expressions import Expression, Operand, as_expression
from polysched.ir.functions import cast, maximum, minimum


def saturate(value: Operand, dtype: DType | str) -> Expression:
    """Convert a value to an integer type; what lies beyond its range becomes its nearest end.

    A fraction is cut off, as ``cast`` does; NaN becomes the type's smallest value.

    Raises:
        KernelError: the type is no integer, or the value's type is undecided or a boolean.
    """
    target, given = as_dtype(dtype), as_expression(value)
    source = given.dtype
    if not target.is_integer:
        raise KernelError(f"saturate({given}, {target}): expected an integer type to convert to")
    if source is None or not (source.is_float or source.is_integer):
        raise KernelError(
            f"saturate({given}, {target}): the value is {source or 'a literal'}; expected a number "
            "that is computed"
        )
    lowest, highest = target.lowest, target.highest
    if source.is_integer:
        lowest, highest = max(lowest, source.lowest), min(highest, source.highest)
        return cast(minimum(maximum(given, lowest), highest), target)
    ends = float(lowest), _at_most(highest, source)
    return cast(minimum(maximum(given, ends[0]), ends[1]), target)


def _at_most(limit: int, dtype: DType) -> float:
    """The largest floating-point number of a type up to an integer."""
    kind = dtype.numpy().type
    nearest = kind(limit)
    return float(nearest if int(nearest) <= limit else np.nextafter(nearest, kind(0)))
