"""Enumerate statement instances: their coordinates, execution ranks and tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import islpy as isl
import numpy as np

from polysched.errors import PlotError
from polysched.ir.core.tree import LoopKind, executed, path, time_columns
from polysched.ir.expr.affine import literal
from polysched.ir.semantics.points import Points, box_size, columns_at, points, ranks, stacked
from polysched.plot.dimensions import coordinate, loop_value
from polysched.plot.view import Fixed
from polysched.schedule.core.program import Program

INSTANCE_LIMIT = 200_000
"""Limit on the enumerated instances of one statement: about a second."""

BOX_LIMIT = 4_000_000
"""Limit on the points of a domain's bounding box, which are all tested: about a second."""


class TooManyInstancesError(PlotError):
    """A domain has too many points to enumerate."""


@dataclass(frozen=True, eq=False)
class Instances:
    """The n instances of one statement.

    Attributes:
        rows: the values of its indices, shape (n, indices).
        places: the values of the picture's dimensions, shape (n, dimensions).
        order: execution ranks from 0 among all statements shown, shape (n,); instances that run
            together as lanes of a vector have equal ranks.
        tiles: the values of the tile loops, shape (n, loops).
    """

    statement: str
    rows: Points
    places: Points
    order: Points
    tiles: Points


def instances(
    program: Program,
    shown: Sequence[str],
    dimensions: Sequence[str],
    at: Fixed,
    tile: Sequence[str],
    parameters: Mapping[str, int],
) -> tuple[Instances, ...]:
    """Enumerate the instances of the statements shown, at the given sizes.

    Args:
        shown: statements, all of which have all the dimensions.
        dimensions: the axes of the picture.
        at: fixed dimensions and their values; ignored for statements that lack them.
        tile: the tile loops; a statement outside of such a loop has the value 0 for it.
    """
    rows = {name: enumerated(fixed_domain(program, name, at), name, parameters) for name in shown}
    order = ranks(
        stacked([columns_at(_times(program, name), rows[name], parameters) for name in shown])
    )
    ends = np.cumsum([len(rows[name]) for name in shown])
    return tuple(
        Instances(
            name,
            rows[name],
            _columns(
                [coordinate(program, name, axis) for axis in dimensions], rows[name], parameters
            ),
            own_order - 1,
            _columns([loop_value(program, name, loop) for loop in tile], rows[name], parameters),
        )
        for name, own_order in zip(shown, np.split(order, ends[:-1]), strict=True)
    )


def _columns(
    functions: Sequence[isl.PwAff | None], rows: Points, parameters: Mapping[str, int]
) -> Points:
    """The values of functions at instances, one column for each function; zeros for None."""
    return columns_at(
        [0 if function is None else function for function in functions], rows, parameters
    )


def fixed_domain(program: Program, statement: str, at: Fixed) -> isl.Set:
    """The instances of a statement at which the fixed dimensions have the given values."""
    domain = program.statements[statement].domain
    space = domain.get_space()
    for name, value in at.items():
        function = coordinate(program, statement, name)
        if function is not None:
            values_of = value if isinstance(value, range) else range(value, value + 1)
            domain = domain.intersect(function.ge_set(literal(space, values_of.start)))
            domain = domain.intersect(function.lt_set(literal(space, values_of.stop)))
    return domain


def enumerated(domain: isl.Set, statement: str, parameters: Mapping[str, int]) -> Points:
    """Enumerate the points of a domain in lexicographic order, shape (n, indices)."""
    size = box_size(domain, parameters)
    if size > BOX_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"a box of {size:,} points around it"))
    rows = points(domain, parameters)
    if len(rows) > INSTANCE_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"{len(rows):,} instances"))
    return rows


def _too_many(statement: str, count: str) -> str:
    return f"the domain of statement '{statement}' is too large to plot as a whole: {count}"


def _times(program: Program, statement: str) -> tuple[isl.PwAff | int, ...]:
    """The timestamp of instances without the vector loops, whose lanes run together."""
    tree = executed(program.tree)
    lanes = sum(loop.kind is LoopKind.VECTOR for loop in path(tree, statement))
    columns = time_columns(tree, statement)
    return columns[: len(columns) - lanes]  # vector loops are the innermost of this tree
