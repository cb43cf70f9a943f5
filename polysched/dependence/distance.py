"""Dependence distances: the number of loop iterations from source to sink."""

from __future__ import annotations

import islpy as isl

from polysched.ir.expr.linear_form import Interval
from polysched.ir.isl.extrema import greatest, least


def distance(pairs: isl.Map, source: isl.PwAff, sink: isl.PwAff) -> Interval:
    """Bound ``sink value - source value`` over all pairs: the minimum and the maximum.

    A bound is None if it depends on a parameter, or if there are no pairs.

    Args:
        pairs: relation from source instances to sink instances.
        source, sink: the loop's value as a function of the instances.
    """
    values = (
        isl.Map.from_pw_aff(source)
        .reverse()
        .apply_range(pairs)
        .apply_range(isl.Map.from_pw_aff(sink))
        .deltas()
    )
    return least(values, 0), greatest(values, 0)


def format_distance(bounds: Interval) -> str:
    """Format a distance: ``1``, ``1..3``, ``>= 1``, ``<= 3`` or ``any``."""
    low, high = bounds
    match low is None, high is None:
        case True, True:
            return "any"
        case False, True:
            return f">= {low}"
        case True, False:
            return f"<= {high}"
        case _:
            return str(low) if low == high else f"{low}..{high}"


def format_distances(distances: tuple[Interval, ...]) -> str:
    """Format a distance vector: ``distance 1``, ``distance (1, >= 0)``."""
    components = [format_distance(bounds) for bounds in distances]
    text = components[0] if len(components) == 1 else f"({', '.join(components)})"
    return f"distance {text}"
