"""Minimum and maximum of one dimension of a set.

isl's ``dim_min_val`` and ``dim_max_val`` may return a wrong number if a basic set of a union
contains no integer point, because isl compares the resulting NaN like a number. Therefore they are
called on each basic set separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import islpy as isl

_WORD_BYTES = 4


def least(points: isl.Set, position: int) -> int | None:
    """The minimum of dimension ``position``; None if it is unbounded or the set is empty."""
    values = [part.dim_min_val(position) for part in _parts(points)]
    return _extremum(values, min)


def greatest(points: isl.Set, position: int) -> int | None:
    """The maximum of dimension ``position``; None if it is unbounded or the set is empty."""
    values = [part.dim_max_val(position) for part in _parts(points)]
    return _extremum(values, max)


def _parts(points: isl.Set) -> list[isl.Set]:
    return [isl.Set.from_basic_set(part) for part in points.get_basic_sets()]


def _extremum(values: list[isl.Val], choose: Callable[[Iterable[int]], int]) -> int | None:
    numbers = [value for value in values if not value.is_nan()]
    if not numbers or not all(value.is_int() for value in numbers):
        return None
    return choose(map(as_int, numbers))


def as_int(value: isl.Val) -> int:
    """The number of an integer value: read as a C long if 32 bits hold it, else by its text."""
    if value.n_abs_num_chunks(_WORD_BYTES) <= 1:
        return value.get_num_si()
    return int(value.to_python())
