"""Columns: vector statements whose lanes lie rows apart, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.tree import LoopKind, TransposeDirective, TransposeStrategy
from polysched.ir.expr.expressions import Expression, Index, Load
from polysched.ir.expr.linear import LinearForm, linear_form
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign, For, If, LoopNode


@dataclass(frozen=True)
class Strided:
    """An access by lanes: where lane 0 goes, and how far the lanes are apart in each dimension.

    Rows run along the dimension ``along``, whose elements are neighbors in memory.
    """

    array: str
    place: tuple[LinearForm, ...]
    steps: tuple[int, ...]
    along: int

    def distance(self, other: Strided) -> int | None:
        """How many elements along the row ``other`` lies behind; None if elsewhere."""
        if (self.array, self.steps) != (other.array, other.steps):
            return None
        differences = [b.plus(a, -1) for a, b in zip(self.place, other.place, strict=True)]
        ahead = differences.pop(self.along)
        if any(one.terms or one.constant for one in differences) or not ahead.is_constant:
            return None
        return ahead.constant

    def row(self, lane: int, column: Expression) -> tuple[Expression, ...]:
        """The subscripts of a lane of the column that lies ``column`` elements behind."""
        place = [
            form.plus(LinearForm((), step * lane)).expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        place[self.along] = place[self.along] + column
        return tuple(place)

    def element(self, number: Expression, columns: int) -> tuple[Expression, ...]:
        """The subscripts of an element of rows of so many columns, counted row by row."""
        lane = number // columns
        place = [
            form.expression() + lane * step if step else form.expression()
            for form, step in zip(self.place, self.steps, strict=True)
        ]
        place[self.along] = place[self.along] + number % columns
        return tuple(place)

    def rows_apart(self, columns: int) -> bool:
        """Whether the rows of a tile of so many columns share no element."""
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
        """What the columns of a tile have in common."""
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
        """The loads of the value whose lanes lie rows apart, each place once."""
        found = map(self.strided, loads(self.assign.value))
        return list(dict.fromkeys(one for one in found if one is not None))

    @cached_property
    def store(self) -> Strided | None:
        """The store, if its lanes lie rows apart."""
        return self.strided(self.assign.target)

    @property
    def accesses(self) -> list[Strided]:
        """All accesses whose lanes lie rows apart, the store last."""
        return [one for one in (*self.loads, self.store) if one is not None]

    @property
    def read_arrays(self) -> frozenset[str]:
        """The arrays that the statement reads."""
        return frozenset(load.array for load in self.assign.reads)

    def strided(self, access: Access | Load) -> Strided | None:
        """An access whose lanes lie rows apart; None if they are one element or neighbors."""
        lane = self.loop.variable
        forms = [linear_form(subscript, {}) for subscript in access.subscripts]
        for form, subscript in zip(forms, access.subscripts, strict=True):
            if not form.is_affine and (loads(subscript) or form.without(lane)[0].uses({lane})):
                return None
        steps = [_coefficient(form, lane) for form in forms]
        if not any(steps):
            return None
        along = self.arrays[access.array].lane_dimension
        across = [step for at, step in enumerate(steps, -len(steps)) if at != along]
        if not any(across) and abs(steps[along]) == 1:
            return None
        place = [form.without(lane)[0] for form in forms]
        return Strided(access.array, tuple(place), tuple(steps), along)


def _coefficient(form: LinearForm, index: str) -> int:
    """The coefficient of the index of a name."""
    for atom, coefficient in form.terms:
        if isinstance(atom, Index) and atom.name == index:
            return coefficient
    return 0


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
