"""The instances of statements in numbers: coordinates, when they run, in which tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl
import numpy as np

from polysched.errors import PlotError
from polysched.ir.affine import literal
from polysched.ir.extrema import greatest, least
from polysched.ir.points import Points, at_parameters, points, values
from polysched.ir.tree import LoopKind, executed, path, time_columns
from polysched.plot.dimensions import coordinate, loop_value
from polysched.schedule.program import Program

INSTANCE_LIMIT = 200_000
"""Instances of one statement that are enumerated: about a second."""

BOX_LIMIT = 4_000_000
"""Points of the box around a domain that are looked through: about a second."""


class TooManyInstancesError(PlotError):
    """A domain has too many points to enumerate."""


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of one statement, n of them.

    Attributes:
        statement: the statement.
        rows: the values of its indices, shape (n, indices).
        places: the values of the picture's dimensions, shape (n, dimensions).
        order: when each runs: ranks from 0 among all statements shown, equal where instances run
            together as lanes of a vector; shape (n,).
        tiles: the values of the loops over tiles, shape (n, loops).
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
    at: Mapping[str, int],
    tile: Sequence[str],
    parameters: Mapping[str, int],
) -> tuple[Instances, ...]:
    """The instances of the statements shown, at the given sizes.

    Args:
        shown: statements that have all the dimensions.
        at: dimensions that are fixed, for the statements that have them.
        tile: the loops that make a tile; a statement without one of them has 0 for it.

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
                [coordinate(program, name, one) for one in dimensions], rows[name], parameters
            ),
            rank,
            _columns([loop_value(program, name, one) for one in tile], rows[name], parameters),
        )
        for name, rank in zip(shown, ranks, strict=True)
    )


def fixed_domain(program: Program, statement: str, at: Mapping[str, int]) -> isl.Set:
    """The instances whose fixed dimensions have their values."""
    domain = program.statements[statement].domain
    for name, value in at.items():
        function = coordinate(program, statement, name)
        if function is not None:
            domain = domain.intersect(function.eq_set(literal(domain.get_space(), value)))
    return domain


def enumerated(domain: isl.Set, statement: str, parameters: Mapping[str, int]) -> Points:
    """All points of a domain, in lexicographic order: shape (n, indices).

    Raises:
        TooManyInstancesError: there are too many.
    """
    size = box_size(domain, parameters)
    if size > BOX_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"a box of {size:,} points around it"))
    rows = points(domain, parameters)
    if len(rows) > INSTANCE_LIMIT:
        raise TooManyInstancesError(_too_many(statement, f"{len(rows):,} instances"))
    return rows


def _too_many(statement: str, what: str) -> str:
    return f"the domain of statement '{statement}' is too large to plot: {what}"


def box_size(domain: isl.Set, parameters: Mapping[str, int]) -> int:
    """How many points the box around a domain has at the given sizes; 0 if it is empty."""
    fixed = at_parameters(domain, parameters)
    if fixed.is_empty():
        return 0
    ends = [
        (least(fixed, position), greatest(fixed, position))
        for position in range(fixed.dim(isl.dim_type.set))
    ]
    if any(low is None or high is None for low, high in ends):
        raise PlotError(f"cannot enumerate {domain}: it is unbounded")
    return prod(high - low + 1 for low, high in ends if low is not None and high is not None)


def _times(program: Program, statement: str, rows: Points, parameters: Mapping[str, int]) -> Points:
    """When instances run, without lanes: they run together. Shape (n, length)."""
    tree = executed(program.tree)
    lanes = sum(loop.kind is LoopKind.VECTOR for loop in path(tree, statement))
    columns = time_columns(tree, statement)
    # In the executed tree vector loops stand directly around the leaf.
    kept = columns[: len(columns) - lanes]
    result = np.empty((len(rows), len(kept)), np.int64)
    for position, column in enumerate(kept):
        result[:, position] = (
            column if isinstance(column, int) else values(column, rows, parameters)
        )
    return result


def _ranks(times: Sequence[Points]) -> list[Points]:
    """The position of every time among all the different ones, in lexicographic order.

    Times of two statements differ at a position in a sequence before one of them ends, so they may
    be padded.
    """
    length = max(time.shape[1] for time in times)
    padded = [np.pad(time, ((0, 0), (0, length - time.shape[1]))) for time in times]
    _, ranks = np.unique(np.concatenate(padded), axis=0, return_inverse=True)
    ends = np.cumsum([len(time) for time in times])
    return np.split(ranks.reshape(-1), ends[:-1])


def _columns(
    functions: Sequence[isl.PwAff | None], rows: Points, parameters: Mapping[str, int]
) -> Points:
    """The values of functions at instances, a column each; 0 where there is no function."""
    result = np.zeros((len(rows), len(functions)), np.int64)
    for position, function in enumerate(functions):
        if function is not None:
            result[:, position] = values(function, rows, parameters)
    return result
