"""Count the instances of a statement: the integer points of its domain.

The middle iterations of a triangle give another product of trip counts for each order of the
indices: ``k < min(i, j)`` runs n^3/4 times with ``k`` outside and n^3/2 times with ``k`` inside,
instead of n^3/3. So trip counts are added up over iterations that lie evenly in the domain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import islpy as isl
import numpy as np
import numpy.typing as npt

from polysched.ir.semantics.points import with_parameters

SAMPLES = 2048
"""Iterations of outer indices at which the trip count of an inner index is taken, at most."""
MOST_SAMPLES = 16
"""Samples of one index, at most. Eight count a tetrahedron with an error of 0.3 %."""
MOST_PARTS = 8
"""Parts of a domain that are counted one by one; the convex hull stands for more."""

_Floats = npt.NDArray[np.float64]


def instance_count(domain: isl.Set, sizes: Mapping[str, int]) -> float:
    """Return about how many instances a domain has; strides count as if they were 1."""
    points = with_parameters(domain, sizes).remove_divs()
    points = points.project_out(isl.dim_type.param, 0, points.dim(isl.dim_type.param))
    if points.n_basic_set() > 1:
        points = points.make_disjoint().remove_divs()
    if points.n_basic_set() > MOST_PARTS:
        points = isl.Set.from_basic_set(points.simple_hull())
    return max(1.0, sum(map(_count, points.get_basic_sets())))


def _count(part: isl.BasicSet) -> float:
    """Add up trip counts, from the outermost index inward."""
    depth = part.dim(isl.dim_type.set)
    bounds = [_bounds(part, position) for position in range(depth)]
    used = [any(np.any(rows[:, at]) for rows in bounds[at + 1 :]) for at in range(depth)]
    linked = sum(used[:-1])
    samples = min(MOST_SAMPLES, int(SAMPLES ** (1 / linked) + 1e-9)) if linked else 1
    outside: _Floats = np.zeros((1, depth))
    counts: _Floats = np.ones(1)
    for position, rows in enumerate(bounds):
        own = rows[:, position]
        limits = -(outside @ rows[:, :-1].T + rows[:, -1]) / own
        low = limits[:, own > 0].max(axis=1, initial=-math.inf)
        trips = limits[:, own < 0].min(axis=1, initial=math.inf) - low + 1.0
        trips = np.where(np.isfinite(trips), np.maximum(trips, 0.0), 1.0)
        several = samples if used[position] else 1
        shares = (np.arange(several) + 0.5) / several
        outside = np.repeat(outside, several, axis=0)
        inside = np.where(np.isfinite(low), low, 0.0)[:, None] - 0.5 + trips[:, None] * shares
        outside[:, position] = inside.reshape(-1)
        counts = np.repeat(counts * trips / several, several)
    return float(counts.sum())


def _bounds(part: isl.BasicSet, position: int) -> _Floats:
    """Return the constraints on an index by outer ones: coefficients and constant, at least 0.

    The coefficient of the index itself is not 0.
    """
    depth = part.dim(isl.dim_type.set)
    outer = part.project_out(isl.dim_type.set, position + 1, depth - position - 1).remove_divs()
    rows = []
    for constraint in outer.get_constraints():
        if not constraint.involves_dims(isl.dim_type.set, position, 1):
            continue
        row = [
            constraint.get_coefficient_val(isl.dim_type.set, at).to_python()
            for at in range(position + 1)
        ]
        row += [0] * (depth - position - 1) + [constraint.get_constant_val().to_python()]
        rows.append(row)
        if constraint.is_equality():
            rows.append([-value for value in row])
    return np.array(rows, dtype=float).reshape(len(rows), depth + 1)
