"""Smallest points of sets and relations, so that a witness is ``S[0,1]`` and not ``S[517,93]``."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.ir.isl.extrema import greatest, least


@dataclass(frozen=True)
class SmallPoint:
    """A point: parameter values by name, and the values of the dimensions."""

    parameters: tuple[tuple[str, int], ...]
    values: tuple[int, ...]

    def restrict(self, points: isl.Set) -> isl.Set:
        """The part of a set that is this point; the set has the same parameters in this order."""
        for position, (_, value) in enumerate(self.parameters):
            points = points.fix_val(isl.dim_type.param, position, isl.Val(value))
        for position, value in enumerate(self.values):
            points = points.fix_val(isl.dim_type.set, position, isl.Val(value))
        return points


def smallest_point(points: isl.Set) -> SmallPoint:
    """Find the lexicographically smallest point: parameters first, then dimensions.

    If a dimension is unbounded below, the smallest nonnegative value is chosen; if there is none,
    the largest negative value. The set must not be empty.
    """
    count = points.dim(isl.dim_type.param)
    names = [str(points.get_dim_name(isl.dim_type.param, i)) for i in range(count)]
    rest = points.flatten().move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    chosen: list[int] = []
    for position in range(rest.dim(isl.dim_type.set)):
        value = _smallest_value(rest, position)
        rest = rest.fix_val(isl.dim_type.set, position, isl.Val(value))
        chosen.append(value)
    return SmallPoint(tuple(zip(names, chosen[:count], strict=True)), tuple(chosen[count:]))


def smallest_pair(pairs: isl.Map) -> tuple[SmallPoint, SmallPoint]:
    """Find the smallest pair of a relation: parameters first, then the source, then the sink."""
    length = pairs.dim(isl.dim_type.in_)
    point = smallest_point(pairs.wrap())
    return (
        SmallPoint(point.parameters, point.values[:length]),
        SmallPoint(point.parameters, point.values[length:]),
    )


def _smallest_value(points: isl.Set, position: int) -> int:
    lowest = least(points, position)
    if lowest is not None:
        return lowest
    nonnegative = least(points.lower_bound_val(isl.dim_type.set, position, isl.Val(0)), position)
    if nonnegative is not None:
        return nonnegative
    negative = greatest(points, position)
    assert negative is not None, "the set is empty"
    return negative
