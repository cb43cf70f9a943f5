"""The footprint of a tile: the elements of an array that a tile touches, and their bounding box.

A footprint is a relation from tiles, the values of some loops, to the elements touched there. In
each dimension its box has a smallest subscript, a function of the tile, and an extent.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.linear import simplify
from polysched.ir.isl.extrema import greatest, least


def from_tiles(touched: isl.Set, depth: int) -> isl.Map:
    """Return the relation from the first ``depth`` dimensions, a tile, to the other dimensions."""
    return isl.Map.from_domain(touched).move_dims(
        isl.dim_type.out, 0, isl.dim_type.in_, depth, touched.dim(isl.dim_type.set) - depth
    )


def element_column(footprint: isl.Map, position: int) -> isl.Map:
    """Return the relation from tiles to the subscripts of one dimension."""
    count = footprint.dim(isl.dim_type.out)
    column = footprint.project_out(isl.dim_type.out, position + 1, count - position - 1)
    return column.project_out(isl.dim_type.out, 0, position)


def lowest_subscript(footprint: isl.Map, position: int, tile_names: tuple[str, ...]) -> isl.PwAff:
    """Return the smallest subscript of one dimension in each tile, or a simpler lower bound.

    If instances are missing, as in ``if i != j``, the smallest subscript of a tile that begins with
    the gap is another one than in all other tiles. The bound without gaps is taken if no tile needs
    a larger box with it. So is the least subscript of all tiles, if the first tile is partial.
    """
    column = element_column(footprint, position)
    function = column.dim_min(0).gist(column.domain()).coalesce()
    if function.n_piece() > 1:
        largest = greatest(_offsets(column, function), 0)
        for bound in _lower_bounds(column):
            if (
                bound.n_piece() < function.n_piece()
                and largest is not None
                and greatest(_offsets(column, bound), 0) == largest
            ):
                function = bound
    return named(function, tile_names)


def _lower_bounds(column: isl.Map) -> Iterator[isl.PwAff]:
    """Yield bounds that may be simpler: the convex one, and a number."""
    hull = isl.Map.from_basic_map(column.simple_hull()).intersect_domain(column.domain())
    # The hull of pieces without a common bound has none.
    tile_dimensions = column.dim(isl.dim_type.in_)
    if hull.wrap().dim_has_lower_bound(isl.dim_type.set, tile_dimensions):
        yield hull.dim_min(0).gist(column.domain()).coalesce()
    number = least(column.range(), 0)
    if number is not None:
        space = isl.LocalSpace.from_space(column.domain().get_space())
        yield isl.PwAff.from_aff(isl.Aff.val_on_domain(space, isl.Val(number)))


def iteration_range(
    footprint: isl.Map, tile_names: tuple[str, ...], at: str
) -> tuple[isl.PwAff, Expression]:
    """Return the smallest value of the innermost loop per tile, and its largest number of values.

    Raises:
        ScheduleError: the number of values has no bound.
    """
    outer = len(tile_names) - 1
    values = from_tiles(footprint.domain(), outer)
    lowest = lowest_subscript(values, 0, tile_names[:outer])
    count = extent(values, lowest, 0, f"loop '{at}' has no bounded number of iterations")
    return named(lowest.insert_dims(isl.dim_type.in_, outer, 1), tile_names), count


def extent(footprint: isl.Map, lowest: isl.PwAff, position: int, unbounded: str) -> Expression:
    """Return the largest extent of a dimension, counted from ``lowest``."""
    offsets = _offsets(element_column(footprint, position), lowest)
    if not offsets.dim_has_upper_bound(isl.dim_type.set, 0):
        raise ScheduleError(unbounded)
    # isl finds the maximum of explicit floors in 0.01 s where implicit ones take 2 s.
    last = offsets.compute_divs().dim_max(0)
    highest = greatest(offsets, 0)
    if highest is not None and _reaches(last, highest):
        return Constant(highest + 1)
    return simplify(from_pw_aff(last) + 1, {})


def _offsets(column: isl.Map, lowest: isl.PwAff) -> isl.Set:
    starts = isl.Map.from_pw_aff(lowest).reset_tuple_id(isl.dim_type.in_)
    return starts.intersect_domain(column.domain()).reverse().apply_range(column).deltas()


def _reaches(last: isl.PwAff, highest: int) -> bool:
    """Return whether a whole piece of ``last`` is the literal ``highest``, as in a full tile.

    If so, the buffer gets the literal extent, also for the partial tiles of small sizes.
    """
    return any(
        simplify(from_pw_aff(isl.PwAff.from_aff(piece)), {}) == Constant(highest)
        for _, piece in last.get_pieces()
    )
