"""Parameter values for which costs are predicted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import islpy as isl

from polysched.errors import ScheduleError, suggestion
from polysched.integers import as_integer
from polysched.ir.core.kernel import Kernel
from polysched.ir.isl.extrema import greatest, least

ASSUMED_SIZE = 1000
"""The value of a parameter that the caller does not give.

A matrix of so many rows and columns exceeds the second-level cache of current processors, so that
traffic counts, and loops are long enough for vectors and register tiles to pay.
"""


def model_sizes(kernel: Kernel, given: Mapping[str, int] | None) -> dict[str, int]:
    """Return a value for each parameter: the given one, else the legal one nearest to the default.

    Raises:
        ScheduleError: a given name is not a parameter, a value is not an integer, or the given
            values contradict the kernel's context.
    """
    chosen = _checked(kernel, given or {})
    legal = with_parameters(kernel.context, chosen)
    if legal.is_empty():
        shown = ", ".join(f"{name}={value}" for name, value in chosen.items())
        raise ScheduleError(
            f"sizes {shown} contradict the context of kernel '{kernel.name}': {kernel.context}"
        )
    for name in kernel.parameters:
        if name not in chosen:
            value = _nearest(legal, name)
            chosen[name] = value
            legal = with_parameters(legal, {name: value})
    return {name: chosen[name] for name in kernel.parameters}


def with_parameters(context: isl.Set, values: Mapping[str, int]) -> isl.Set:
    """Fix some parameters of a parameter set; names that it does not have are ignored."""
    for name, value in values.items():
        position = context.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            context = context.fix_val(isl.dim_type.param, position, isl.Val(value))
    return context


def _checked(kernel: Kernel, given: Mapping[str, Any]) -> dict[str, int]:
    checked = {}
    for name, value in given.items():
        if name not in kernel.parameters:
            raise ScheduleError(
                f"sizes: kernel '{kernel.name}' has no parameter '{name}'"
                f"{suggestion(name, kernel.parameters)}"
            )
        number = as_integer(value)
        if number is None:
            raise ScheduleError(f"sizes: {name}={value!r}; expected an integer")
        checked[name] = number
    return checked


def _nearest(legal: isl.Set, name: str) -> int:
    """Return the legal value of a parameter that is nearest to the default."""
    position = legal.find_dim_by_name(isl.dim_type.param, name)
    if position < 0:
        return ASSUMED_SIZE
    count = legal.dim(isl.dim_type.param)
    values = isl.Set.from_params(legal.params())
    values = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    if not values.fix_val(isl.dim_type.set, position, isl.Val(ASSUMED_SIZE)).is_empty():
        return ASSUMED_SIZE
    above = values.lower_bound_val(isl.dim_type.set, position, isl.Val(ASSUMED_SIZE))
    nearest = least(above, position)
    if nearest is None:
        nearest = greatest(values, position)
    return ASSUMED_SIZE if nearest is None else nearest
