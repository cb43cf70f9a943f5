"""Buffers at a loop: plan the memory for the tile of an array that one iteration touches.

Both ``pack`` and ``promote`` copy a tile of an array into a buffer. A *tile* is one iteration of
the loop and of the loops around it, identified by the tuple of their values. Logically the buffer
is indexed by tile and position, so that no two tiles share an element. In memory all tiles share
one buffer; the legality check decides whether they may.

An *expanded* buffer has memory for every iteration of the loop, along a dimension ``each_<loop>``.
Only the loops further out reuse its memory, so lanes and threads along the loop share nothing.

:mod:`polysched.schedule.buffers.translation` translates the dependences,
:mod:`polysched.schedule.buffers.copies` makes the statements and loops.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import partial, reduce
from typing import TypeVar

import islpy as isl

from polysched.dependence.relations import Dependence, Reference
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Array, Role, access_relation
from polysched.ir.core.tree import Loop, statements
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.isl.shared_results import equal_values, remembered
from polysched.schedule.buffers.footprint import (
    element_column,
    extent,
    from_tiles,
    iteration_range,
    lowest_subscript,
)
from polysched.schedule.buffers.lowest import lowest_by_indices
from polysched.schedule.core.exactness import require_exact_accesses
from polysched.schedule.core.program import Program, insertion_loop, prefix_loops, prefix_map

_Column = TypeVar("_Column")


@dataclass(frozen=True, eq=False)
class Buffering:
    """The plan of one buffer.

    Attributes:
        array: the array whose tile the buffer holds.
        buffer: the new array.
        loop: the loop at which the buffer is made; None if it is made before all loops.
        around: the loops from the outermost to ``loop``; their values identify a tile.
        tile_names: a name for the value of each of these loops.
        element_names: the names of the array's dimensions.
        order: the array's stored dimensions in the buffer's order.
        lowest: for each dimension of the array, the smallest subscript in a tile, as a function of
            the tile.
        redirect: for each redirected reference, the map from instances to ``[tile, element]``, a
            flat tuple.
        first: for an expanded buffer, the smallest value of ``loop``, as a function of the tile.
        own_position: for an expanded buffer, the position of ``each_<loop>`` among its stored
            dimensions.
    """

    array: Array
    buffer: Array
    loop: Loop | None
    around: tuple[Loop, ...]
    tile_names: tuple[str, ...]
    element_names: tuple[str, ...]
    order: tuple[int, ...]
    lowest: tuple[isl.PwAff, ...]
    redirect: dict[Reference, isl.Map]
    first: isl.PwAff | None = None
    own_position: int = 0

    def columns(self, tile: Sequence[_Column], elements: Sequence[_Column]) -> list[_Column]:
        """Arrange columns in the order of the buffer's dimensions.

        Args:
            tile: one column for each loop around.
            elements: one column for each dimension in ``order``.
        """
        if self.first is None:
            return [*tile, *elements]
        *outer, own = tile
        return [*outer, *elements[: self.own_position], own, *elements[self.own_position :]]

    @property
    def reads(self) -> list[Reference]:
        """The redirected reads."""
        return [reference for reference in self.redirect if reference.position]

    @property
    def writes(self) -> list[Reference]:
        """The redirected writes."""
        return [reference for reference in self.redirect if not reference.position]

    def same_tile(self, dependence: Dependence) -> isl.Map:
        """Return the pairs of a dependence between redirected references that lie in one tile."""
        ends = self._ends(dependence)
        same = (dependence.relation, *(value for pair in ends for value in pair))
        return remembered(
            partial(_with_equal, dependence.relation, ends), Buffering.same_tile, same
        )

    def other_tile(self, dependence: Dependence) -> isl.Map:
        """Return the pairs of a dependence between redirected references that lie in two tiles."""
        same_tile = self.same_tile(dependence)
        whole = dependence.relation
        return remembered(
            partial(isl.Map.subtract, whole, same_tile), isl.Map.subtract, (whole, same_tile)
        )

    def _ends(self, dependence: Dependence) -> list[tuple[isl.PwAff, isl.PwAff]]:
        """Return the coordinates of the source's and the sink's tile, as pairs."""
        source, sink = dependence.source.statement, dependence.sink.statement
        return [(loop.values[source], loop.values[sink]) for loop in self.around]


def _with_equal(relation: isl.Map, ends: Sequence[tuple[isl.PwAff, isl.PwAff]]) -> isl.Map:
    for source, sink in ends:
        relation = relation.intersect(equal_values(source, sink))
    return relation


def plan_buffer(
    program: Program,
    array_name: str,
    at: str | None,
    into: str,
    order: tuple[str, ...] | None,
    *,
    users: Set[str] | None = None,
    expanded: bool = False,
    may: bool = False,
) -> Buffering:
    """Find the references to an array below a loop, and the box of the array that a tile needs.

    Args:
        at: the loop; None for the whole program, which is one tile.
        users: the statements whose references count; by default all below the loop.
        expanded: whether every iteration of the loop gets memory of its own. If the expanded buffer
            replaces the array for all statements below the loop, and the array is itself a buffer,
            then the iterations may use different tiles of it.
        may: whether subscripts may depend on data; the box then holds all elements that may be
            touched.

    Raises:
        ScheduleError: the array or loop is unknown, the array is not touched below the loop, the
            names of dimensions are wrong, or a tile has no bounded box.
    """
    _require_names(program, array_name, into)
    array = program.arrays[array_name]
    if array.guarded:
        raise ScheduleError(
            f"the elements of array '{array_name}' exist only where the kernel accesses them, so "
            f"they cannot be copied; declare its extents, as in '{array_name}[n]'"
        )
    loop = None if at is None else insertion_loop(program, at)
    where = "the program" if at is None else f"loop '{at}'"
    user = where if loop is None else f"an iteration of {where}"
    around = () if loop is None else prefix_loops(program, loop)
    tile_names = _tile_names(around)
    below = statements(program.tree if loop is None else loop)
    names = [name for name in below if users is None or name in users]
    if not may:
        require_exact_accesses(program, array_name, names, where)
    redirect = _redirections(program, names, around, array)
    if not redirect:
        raise ScheduleError(
            f"no statement that ever runs below {where} accesses array '{array_name}'"
        )
    touched = reduce(isl.Set.union, (relation.range() for relation in redirect.values()))
    footprint = from_tiles(touched, len(around))
    tiles = len(around) - expanded
    if expanded and users is not None:
        lifetimes = touched.project_out(isl.dim_type.set, tiles, 1)
        _require_one_tile(from_tiles(lifetimes, tiles), array, f"loop '{at}'")
    else:
        _require_one_tile(footprint, array, user)
    lowest = tuple(
        (lowest_by_indices(program, redirect, around, position, tile_names) if around else None)
        or lowest_subscript(footprint, position, tile_names)
        for position in range(len(array.shape))
    )
    stored = _stored_order(array, own_dimension(loop, array) if expanded and loop else None, order)
    positions = tuple(position for position in stored if position != _OWN)
    names_of = {position: array.dimensions[position] for position in positions}
    extents = {
        position: _box_extent(footprint, lowest[position], position, array, user)
        for position in positions
    }
    first, own_position = None, 0
    if expanded and loop is not None:
        first, extents[_OWN] = iteration_range(footprint, tile_names, str(at))
        own_position, names_of[_OWN] = stored.index(_OWN), own_dimension(loop, array)
    buffer = Array(
        into,
        array.dtype,
        (*(Constant(0) for _ in range(tiles)), *(extents[position] for position in stored)),
        Role.TEMPORARY,
        (*tile_names[:tiles], *(names_of[position] for position in stored)),
        tile=tiles,
        location=array.location,
    )
    return Buffering(
        array=array,
        buffer=buffer,
        loop=loop,
        around=around,
        tile_names=tile_names,
        element_names=array.dimensions,
        order=positions,
        lowest=lowest,
        redirect=redirect,
        first=first,
        own_position=own_position,
    )


def _require_names(program: Program, array_name: str, into: str) -> None:
    program.array(array_name)
    if into in program.arrays or into in program.statements or not into.isidentifier():
        raise ScheduleError(
            f"'{into}' cannot name the buffer of array '{array_name}': it is taken or not an "
            "identifier; pass another with into="
        )


def _tile_names(around: tuple[Loop, ...]) -> tuple[str, ...]:
    """Return a unique name for the value of each loop; names of loops may repeat."""
    names: list[str] = []
    for loop in around:
        name = f"at_{loop.name}"
        while name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def _redirections(
    program: Program, names: list[str], around: tuple[Loop, ...], array: Array
) -> dict[Reference, isl.Map]:
    redirect = {}
    for name in names:
        statement = program.statements[name]
        if statement.domain.is_empty():
            continue
        for position, access in enumerate(statement.accesses):
            if access.array == array.name:
                relation = prefix_map(statement, around, []).flat_range_product(
                    access_relation(statement, access)
                )
                redirect[Reference(name, position)] = relation.reset_tuple_id(isl.dim_type.out)
    return redirect


def _require_one_tile(footprint: isl.Map, array: Array, user: str) -> None:
    """Check that the lifetime of a new buffer touches one tile of an array that is itself a buffer.

    All tiles of a buffer share one piece of memory, so a buffer of several tiles would mix them up.

    Args:
        footprint: the map from lifetimes to elements of the array.
        user: the lifetime, as the message calls it.
    """
    for position in range(array.tile):
        if not element_column(footprint, position).is_single_valued():
            raise ScheduleError(
                f"{user} touches several tiles of buffer '{array.name}', one "
                f"for each '{array.dimensions[position]}'; take a loop inside the one at which "
                f"'{array.name}' was made"
            )


def _box_extent(
    footprint: isl.Map, lowest: isl.PwAff, position: int, array: Array, user: str
) -> Expression:
    """Return the largest extent that a tile needs of a dimension of the array."""
    unbounded = (
        f"dimension '{array.dimensions[position]}' of array '{array.name}' has no bounded extent "
        f"in {user}"
    )
    return extent(footprint, lowest, position, unbounded)


def own_dimension(loop: Loop, array: Array) -> str:
    """Return the name of an expanded buffer's dimension for the iterations of a loop.

    It is ``each_<loop>``; if the array has a dimension of that name, ``each_<loop>_2``, and so on.
    """
    first = name = f"each_{loop.name}"
    number = 1
    while name in array.dimensions:
        number += 1
        name = f"{first}_{number}"
    return name


_OWN = -1
"""Position that stands for the buffer's dimension for iterations, which the array does not have."""


def _stored_order(array: Array, own: str | None, order: tuple[str, ...] | None) -> tuple[int, ...]:
    """Return the positions of the array's stored dimensions in the buffer's order.

    Args:
        own: the name of the buffer's dimension for iterations, the first by default; None if the
            buffer is not expanded.
    """
    positions = [*([] if own is None else [_OWN]), *range(array.tile, len(array.dimensions))]
    names = [own if position == _OWN else array.dimensions[position] for position in positions]
    if order is None:
        return tuple(positions)
    if sorted(order) != sorted(map(str, names)):
        raise ScheduleError(
            f"order={order!r} must name each dimension of array '{array.name}' once: "
            f"{', '.join(map(str, names))}"
        )
    return tuple(positions[names.index(name)] for name in order)
