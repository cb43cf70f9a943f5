"""Parameter values for which costs are predicted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import islpy as isl

from polysched.errors import ScheduleError, suggestion
from polysched.integers import as_integer
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.printing import format_expression
from polysched.ir.expr.affine import from_set
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.semantics.memory import concrete_shape
from polysched.ir.semantics.points import with_parameters

ASSUMED_SIZES = (1000, 250, 120, 60)
"""The value of the parameters that the caller does not give: the first with moderate arrays.

A matrix of 1,000 rows and columns exceeds the second-level cache of current processors, so that
traffic counts, and loops are long enough for vectors and register tiles to pay. An array of three
dimensions with that size would take gigabytes, which no caller means.
"""
LONG_SIZES = (200_000, *ASSUMED_SIZES)
"""The same for ranking whole candidates: two lines of this length exceed a second-level cache.

Time tiles gain nothing on lines of 1,000 elements. They lose little there.
"""
SMALLER = 8
"""The quotient of sizes that differ: 1,000 and 125 make two loops long enough for vectors."""
LARGEST_ARRAY = 2**26
"""Bytes of the largest array at the assumed sizes."""


def model_sizes(
    kernel: Kernel, given: Mapping[str, int] | None, assumptions: tuple[int, ...] = ASSUMED_SIZES
) -> dict[str, int]:
    """Return a value for each parameter: the given one, else the legal one nearest to the default.

    Args:
        assumptions: the defaults; the first with moderate arrays is taken.

    Raises:
        ScheduleError: a given name is not a parameter, a value is not an integer, or the given
            values contradict the kernel's context.
    """
    chosen = _checked(kernel, given or {})
    legal = with_parameters(kernel.context, chosen)
    if legal.is_empty():
        shown = ", ".join(f"{name}={value}" for name, value in chosen.items())
        raise ScheduleError(
            f"sizes {shown} contradict the context of kernel '{kernel.name}': expected "
            f"{format_expression(from_set(kernel.context.from_params()))}"
        )
    for assumed in assumptions:
        sizes = _with_iterations(kernel, chosen, legal, assumed)
        if _largest_array(kernel, sizes) <= LARGEST_ARRAY:
            break
    return sizes


def nearest_sizes(
    kernel: Kernel, wanted: Mapping[str, int], others: Mapping[str, int]
) -> dict[str, int]:
    """Return legal sizes near the wanted ones, with other sizes near given ones."""
    legal, sizes = kernel.context, dict[str, int]()
    for name, value in {**wanted, **others, **wanted}.items():
        sizes[name] = _nearest(legal, name, value)
        legal = with_parameters(legal, {name: sizes[name]})
    return sizes


def _with_iterations(
    kernel: Kernel, chosen: Mapping[str, int], legal: isl.Set, assumed: int
) -> dict[str, int]:
    """Return sizes near the assumed value at which few loops have no second iteration.

    A loop to ``n - m`` has none if all sizes are equal, and costs of vectors along it would be
    those of a masked rest. So one parameter is made `SMALLER` times smaller where that helps.
    """
    sizes = _completed(kernel, chosen, legal, assumed)
    free = [name for name in kernel.parameters if name not in chosen]
    short = _short_loops(kernel, sizes) if len(free) > 1 else 0
    for name in reversed(free) if short else ():
        tried = {**chosen, name: _nearest(legal, name, assumed // SMALLER)}
        others = _completed(kernel, tried, with_parameters(legal, tried), assumed)
        fewer = _short_loops(kernel, others)
        if fewer < short:
            sizes, short = others, fewer
    return sizes


def _short_loops(kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """Count the loops of statements that have no second iteration at these sizes."""
    count = 0
    for statement in kernel.statements.values():
        domain = with_parameters(statement.domain, sizes)
        for position in range(len(statement.indices)):
            first, last = least(domain, position), greatest(domain, position)
            count += first is None or first == last
    return count


def _completed(
    kernel: Kernel, chosen: Mapping[str, int], legal: isl.Set, assumed: int
) -> dict[str, int]:
    """Return the chosen sizes with the legal ones nearest to the assumed value for the others."""
    sizes = {}
    for name in kernel.parameters:
        sizes[name] = chosen[name] if name in chosen else _nearest(legal, name, assumed)
        legal = with_parameters(legal, {name: sizes[name]})
    return sizes


def _largest_array(kernel: Kernel, sizes: Mapping[str, int]) -> float:
    """Return the bytes of the largest array."""
    return max(
        (
            math.prod(concrete_shape(array.stored_shape, sizes)) * array.dtype.bits / 8
            for array in kernel.arrays.values()
        ),
        default=0.0,
    )


def _checked(kernel: Kernel, given: Any) -> dict[str, int]:
    if not isinstance(given, Mapping):
        example = dict.fromkeys(kernel.parameters, 1000)
        raise ScheduleError(f"sizes={given!r}; expected a dictionary such as {example}")
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


def _nearest(legal: isl.Set, name: str, assumed: int) -> int:
    """Return the legal value of a parameter that is nearest to the assumed one."""
    position = legal.find_dim_by_name(isl.dim_type.param, name)
    if position < 0:
        return assumed
    count = legal.dim(isl.dim_type.param)
    values = isl.Set.from_params(legal.params())
    values = values.move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    if not values.fix_val(isl.dim_type.set, position, isl.Val(assumed)).is_empty():
        return assumed
    above = values.lower_bound_val(isl.dim_type.set, position, isl.Val(assumed))
    nearest = least(above, position)
    if nearest is None:
        nearest = greatest(values, position)
    return assumed if nearest is None else nearest
