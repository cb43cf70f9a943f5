"""Enumerate statement instances: their coordinates, execution ranks and tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from polysched.errors import PlotError
from polysched.ir.core.tree import LoopKind, executed, path, time_columns
from polysched.ir.expr.affine import literal
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.semantics.points import Points, at_parameters, points, values
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
        statement: the statement.
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
        program: the scheduled program.
        shown: statements, all of which have all the dimensions.
        dimensions: the axes of the picture.
        at: fixed dimensions and their values; ignored for statements that lack them.
        tile: the tile loops; a statement outside of such a loop has the value 0 for it.
        parameters: the values of the parameters.

    Raises:
        TooManyInstancesError: there are too many to enumerate.
    """
    rows = {name: enumerated(fixed_domain(program, name, at), name, parameters) for name in shown}
    ranks = _ranks([_times(program, name, rows[name], parameters) for name in shown])
    return tuple(
        Instances(
            name,
            rows[name],
            _columns(
                [coordinate(program, name, axis) for axis in dimensions], rows[name], parameters
            ),
            rank,
            _columns([loop_value(program, name, loop) for loop in tile], rows[name], parameters),
        )
        for name, rank in zip(shown, ranks, strict=True)
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
    """Enumerate the points of a domain in lexicographic order, shape (n, indices).

    Raises:
        TooManyInstancesError: there are too many points.
    """
    size = box_size(domain, parameters)
    if size > BOX_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"a box of {size:,} points around it"))
    rows = points(domain, parameters)
    if len(rows) > INSTANCE_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"{len(rows):,} instances"))
    return rows


def _too_many(statement: str, count: str) -> str:
    return f"the domain of statement '{statement}' is too large to plot as a whole: {count}"


def box_size(domain: isl.Set, parameters: Mapping[str, int]) -> int:
    """Number of points of a domain's bounding box at the given sizes; 0 if it is empty."""
    fixed = at_parameters(domain, parameters)
    return 0 if fixed.is_empty() else prod(map(len, box(fixed)))


def box(domain: isl.Set) -> list[range]:
    """The bounding box of a domain that is not empty and has no parameters.

    Raises:
        PlotError: the domain is unbounded.
    """
    ends = [
        (least(domain, position), greatest(domain, position))
        for position in range(domain.dim(isl.dim_type.set))
    ]
    if any(low is None or high is None for low, high in ends):
        raise PlotError(f"cannot enumerate {domain}: it is unbounded")
    return [range(low, high + 1) for low, high in ends if low is not None and high is not None]


def _times(program: Program, statement: str, rows: Points, parameters: Mapping[str, int]) -> Points:
    """Timestamps of instances without the vector loops, whose lanes run together.

    The shape is (n, length of the timestamp).
    """
    tree = executed(program.tree)
    lanes = sum(loop.kind is LoopKind.VECTOR for loop in path(tree, statement))
    columns = time_columns(tree, statement)
    # In the executed tree, vector loops are the innermost.
    kept = columns[: len(columns) - lanes]
    result = np.empty((len(rows), len(kept)), np.int64)
    for position, column in enumerate(kept):
        result[:, position] = (
            column if isinstance(column, int) else values(column, rows, parameters)
        )
    return result


def _ranks(times: Sequence[Points]) -> list[Points]:
    """Rank timestamps lexicographically; equal timestamps have equal ranks.

    Timestamps are padded with zeros to one length. This keeps the order, because timestamps of two
    statements differ at a sequence position before either of them ends.
    """
    length = max(time.shape[1] for time in times)
    padded = [np.pad(time, ((0, 0), (0, length - time.shape[1]))) for time in times]
    _, ranks = np.unique(np.concatenate(padded), axis=0, return_inverse=True)
    ends = np.cumsum([len(time) for time in times])
    return np.split(ranks.reshape(-1), ends[:-1])


def _columns(
    functions: Sequence[isl.PwAff | None], rows: Points, parameters: Mapping[str, int]
) -> Points:
    """The values of functions at instances, one column for each function; zeros for None."""
    result = np.zeros((len(rows), len(functions)), np.int64)
    for position, function in enumerate(functions):
        if function is not None:
            result[:, position] = values(function, rows, parameters)
    return result
