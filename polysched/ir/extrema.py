"""The least and the greatest value of one dimension of a set.

isl's own ``dim_min_val`` and ``dim_max_val`` may answer with a wrong number when one of the basic
sets of a union holds no integer point (its NaN is compared like a number), so they are asked basic
set by basic set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl


def least(points: isl.Set, position: int) -> int | None:
    """The least value of dimension ``position``; None where there is none, or no point."""
    values = [part.dim_min_val(position) for part in _parts(points)]
    return _all_integers(values, min)


def greatest(points: isl.Set, position: int) -> int | None:
    """The greatest value of dimension ``position``; None where there is none, or no point."""
    values = [part.dim_max_val(position) for part in _parts(points)]
    return _all_integers(values, max)


def _parts(points: isl.Set) -> list[isl.Set]:
    return [isl.Set.from_basic_set(part) for part in points.get_basic_sets()]


def _all_integers(values: list[isl.Val], choose: Callable[[Iterable[int]], int]) -> int | None:
    found = [value for value in values if not value.is_nan()]
    if not found or not all(value.is_int() for value in found):
        return None
    return choose(int(value.to_python()) for value in found)
