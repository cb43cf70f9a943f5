"""Distances: by how many iterations of a loop a dependence's sink comes after its source."""

from __future__ import annotations

import islpy as isl

from polysched.ir.extrema import greatest, least
from polysched.ir.linear import Interval


def distance(pairs: isl.Map, source: isl.PwAff, sink: isl.PwAff) -> Interval:
    """The least and the greatest ``sink value - source value`` over all pairs.

    None where no literal bounds it (it grows with a parameter), and where there are no pairs.

    Args:
        pairs: relation from source instances to sink instances.
        source, sink: the value of a loop as a function of the instances.
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
    """A distance as text: ``1``, ``1..3``, ``>= 1``, ``<= 3`` or ``any``."""
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
    """Distances along one loop or several: ``distance 1``, ``distance (1, >= 0)``."""
    shown = [format_distance(bounds) for bounds in distances]
    text = shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
    return f"distance {text}"
