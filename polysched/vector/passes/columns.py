"""Columns of register tiles: vector statements whose lanes access different rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.tree import LoopKind, TransposeDirective, TransposeStrategy
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign, For, If, LoopNode
from polysched.vector.classify import lane_steps


@dataclass(frozen=True)
class Strided:
    """A strided access: consecutive lanes access different rows.

    Attributes:
        place: the subscripts of the element that lane 0 accesses.
        steps: the difference of the subscripts of consecutive lanes, in each dimension.
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
        if (
            any(difference.terms or difference.constant for difference in differences)
            or not ahead.is_constant
        ):
            return None
        return ahead.constant

    def row(self, lane: int, column: Expression) -> tuple[Expression, ...]:
        """The subscripts of a lane in the column ``column`` elements further."""
        subscripts = [
            form.plus(step * lane).expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        subscripts[self.along] = subscripts[self.along] + column
        return tuple(subscripts)

    def element(self, number: Expression, columns: int) -> tuple[Expression, ...]:
        """The subscripts of element ``number`` of rows of ``columns`` elements, row by row."""
        lane = number // columns
        subscripts = [
            form.expression() + lane * step if step else form.expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        subscripts[self.along] = subscripts[self.along] + number % columns
        return tuple(subscripts)

    def rows_apart(self, columns: int) -> bool:
        """Whether the rows of a tile of ``columns`` columns share no element."""
        steps = list(self.steps)
        return abs(steps.pop(self.along)) >= columns or any(steps)


@dataclass(frozen=True)
class Column:
    """A vector statement that runs where ``guard`` holds, or always if ``guard`` is None."""

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
        """The strided loads of the value, without duplicates."""
        strided = map(self.strided, loads(self.assign.value))
        return list(dict.fromkeys(access for access in strided if access is not None))

    @cached_property
    def store(self) -> Strided | None:
        """The store, if it is strided."""
        return self.strided(self.assign.target)

    @property
    def accesses(self) -> list[Strided]:
        """All strided accesses, the store last."""
        return [access for access in (*self.loads, self.store) if access is not None]

    @property
    def read_arrays(self) -> frozenset[str]:
        """The arrays that the statement reads."""
        return frozenset(load.array for load in self.assign.reads)

    def strided(self, access: Access | Load) -> Strided | None:
        """The access as a strided access; None if it is a broadcast or contiguous."""
        lanes = lane_steps(access.subscripts, self.loop.variable)
        if lanes.is_broadcast or not lanes.is_linear or lanes.is_data_dependent:
            return None
        along = self.arrays[access.array].lane_dimension
        if lanes.are_along(along) or lanes.are_along(along, step=-1):
            return None
        return Strided(access.array, lanes.first, lanes.steps, along)


def column_of(node: LoopNode, arrays: Mapping[str, Array]) -> Column | None:
    """Match a vector loop around one plain assignment as a column; None for all other nodes.

    Conditions around the loop become the guard of the column if they do not read arrays.
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
