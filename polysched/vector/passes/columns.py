"""Columns of register tiles: vector statements that access a different row in each lane."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.tree import LoopKind, TransposeDirective, TransposeStrategy
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.linear import LinearForm
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign, For, If, LoopNode
from polysched.vector.classify import lane_steps


@dataclass(frozen=True)
class Strided:
    """An access that is not contiguous from lane to lane.

    Attributes:
        array: the array.
        place: the subscripts of lane 0.
        steps: from one lane to the next, in each dimension.
        along: the dimension of rows, whose elements are consecutive in memory.
    """

    array: str
    place: tuple[LinearForm, ...]
    steps: tuple[int, ...]
    along: int

    def distance(self, other: Strided) -> int | None:
        """The distance of ``other`` along the row, in elements; None if it accesses other rows."""
        if (self.array, self.steps) != (other.array, other.steps):
            return None
        differences = [b.plus(a, -1) for a, b in zip(self.place, other.place, strict=True)]
        ahead = differences.pop(self.along)
        if any(one.terms or one.constant for one in differences) or not ahead.is_constant:
            return None
        return ahead.constant

    def row(self, lane: int, column: Expression) -> tuple[Expression, ...]:
        """The subscripts of a lane in the column ``column`` elements further."""
        place = [
            form.plus(LinearForm((), step * lane)).expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        place[self.along] = place[self.along] + column
        return tuple(place)

    def element(self, number: Expression, columns: int) -> tuple[Expression, ...]:
        """The subscripts of element ``number`` of rows of ``columns`` elements, row by row."""
        lane = number // columns
        place = [
            form.expression() + lane * step if step else form.expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        place[self.along] = place[self.along] + number % columns
        return tuple(place)

    def rows_apart(self, columns: int) -> bool:
        """Whether the rows of a tile of ``columns`` columns share no element."""
        steps = list(self.steps)
        return abs(steps.pop(self.along)) >= columns or any(steps)


@dataclass(frozen=True)
class Column:
    """A vector statement, which runs where ``guard`` holds (always without one)."""

    guard: Expression | None
    loop: For
    assign: Assign
    arrays: Mapping[str, Array]

    @cached_property
    def group(self) -> tuple[Any, ...]:
        """A key that is equal for the columns of one tile."""
        loop = self.loop
        lanes = (loop.variable, loop.lower, loop.upper, loop.step, loop.lanes)
        return (self.assign.statement, lanes, loop.transposition)

    @property
    def directive(self) -> TransposeDirective | None:
        """The schedule's directive for the loop; None to gather and scatter."""
        directive = self.loop.transposition
        is_gather = directive is None or directive.strategy is TransposeStrategy.GATHER
        return None if is_gather else directive

    @cached_property
    def loads(self) -> list[Strided]:
        """The strided loads of the value, each place once."""
        found = map(self.strided, loads(self.assign.value))
        return list(dict.fromkeys(one for one in found if one is not None))

    @cached_property
    def store(self) -> Strided | None:
        """The store, if it is strided."""
        return self.strided(self.assign.target)

    @property
    def accesses(self) -> list[Strided]:
        """All strided accesses, the store last."""
        return [one for one in (*self.loads, self.store) if one is not None]

    @property
    def read_arrays(self) -> frozenset[str]:
        """The arrays that the statement reads."""
        return frozenset(load.array for load in self.assign.reads)

    def strided(self, access: Access | Load) -> Strided | None:
        """The access as a strided one; None if it is a broadcast or contiguous."""
        place = lane_steps(access.subscripts, self.loop.variable)
        if place.is_broadcast or not place.is_linear or place.is_data_dependent:
            return None
        along = self.arrays[access.array].lane_dimension
        if place.are_along(along) or place.are_along(along, step=-1):
            return None
        return Strided(access.array, place.first, place.steps, along)


def column_of(node: LoopNode, arrays: Mapping[str, Array]) -> Column | None:
    """A node as a column; None unless it is a vector loop around one plain assignment.

    Conditions around the loop that do not read arrays become the guard of the column.
    """
    guard: Expression | None = None
    while isinstance(node, If) and node.otherwise is None and not loads(node.condition):
        guard = node.condition if guard is None else guard & node.condition
        node = node.then
    if not (isinstance(node, For) and node.kind is LoopKind.VECTOR):
        return None
    if not isinstance(node.body, Assign):
        return None
    return Column(guard, node, node.body, arrays)
