"""The footprint of a tile: what it touches of an array, and the box around that.

A footprint is a relation from tiles, the values of some loops, to the elements that are touched
there. Of each dimension it has a lowest subscript, a function of the tile, and an extent.
"""

from __future__ import annotations

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.affine import from_pw_aff, named
from polysched.ir.expressions import Constant, Expression
from polysched.ir.extrema import greatest
from polysched.ir.linear import simplify


def from_tiles(touched: isl.Set, depth: int) -> isl.Map:
    """The relation from the first ``depth`` dimensions, a tile, to the others, its elements."""
    return isl.Map.from_domain(touched).move_dims(
        isl.dim_type.out,
        0,
        isl.dim_type.in_,
        depth,
        touched.dim(isl.dim_type.set) - depth,
    )


def element_column(footprint: isl.Map, position: int) -> isl.Map:
    """The relation from tiles to the subscripts of one dimension."""
    count = footprint.dim(isl.dim_type.out)
    column = footprint.project_out(isl.dim_type.out, position + 1, count - position - 1)
    return column.project_out(isl.dim_type.out, 0, position)


def lowest_subscript(footprint: isl.Map, position: int, tile_names: tuple[str, ...]) -> isl.PwAff:
    """The smallest subscript of one dimension in each tile."""
    column = element_column(footprint, position)
    function = column.dim_min(0).gist(column.domain()).coalesce()
    return named(function, tile_names)


def iteration_range(
    footprint: isl.Map, tile_names: tuple[str, ...], at: str
) -> tuple[isl.PwAff, Expression]:
    """The smallest value of the innermost loop in each tile, and how many there are at most.

    Raises:
        ScheduleError: there is no bound.
    """
    outer = len(tile_names) - 1
    values = from_tiles(footprint.domain(), outer)
    lowest = lowest_subscript(values, 0, tile_names[:outer])
    count = extent(values, lowest, 0, f"loop '{at}' has no bounded number of iterations")
    return named(lowest.insert_dims(isl.dim_type.in_, outer, 1), tile_names), count


def extent(footprint: isl.Map, lowest: isl.PwAff, position: int, unbounded: str) -> Expression:
    """The largest extent from ``lowest`` on.

    Raises:
        ScheduleError: there is none; the message is ``unbounded``.
    """
    column = element_column(footprint, position)
    starts = isl.Map.from_pw_aff(lowest).reset_tuple_id(isl.dim_type.in_)
    offsets = starts.intersect_domain(column.domain()).reverse().apply_range(column).deltas()
    if not offsets.dim_has_upper_bound(isl.dim_type.set, 0):
        raise ScheduleError(unbounded)
    last = offsets.dim_max(0)
    highest = greatest(offsets, 0)
    if highest is not None and _reaches(last, highest):
        return Constant(highest + 1)
    return simplify(from_pw_aff(last) + 1, {})


def _reaches(last: isl.PwAff, highest: int) -> bool:
    """Whether the literal is the value of a whole piece: the extent of a full tile, say.

    It is then taken for the partial tiles of small sizes too: the buffer has literal extents.
    """
    return any(
        simplify(from_pw_aff(isl.PwAff.from_aff(piece)), {}) == Constant(highest)
        for _, piece in last.get_pieces()
    )
