"""Open loop nest of the kernel builder, and the loop tree that it builds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

import islpy as isl

from polysched.ir.core.tree import Leaf, Loop, Node, sequence
from polysched.ir.expr.affine import to_pw_aff, to_set
from polysched.ir.expr.expressions import Expression, Index, Parameter
from polysched.ir.expr.traversal import walk


@dataclass
class _OpenLoop:
    """A loop of the declaration; it counts down if the step is negative."""

    index: str
    lower: Expression
    upper: Expression
    step: int
    children: list[_Child] = field(default_factory=list)


@dataclass
class _Condition:
    condition: Expression


_Child: TypeAlias = str | _OpenLoop
"""A statement's name, or a loop."""


class Nest:
    """The open loops and conditions, and the loops and statements declared so far."""

    def __init__(self) -> None:
        self._top: list[_Child] = []
        self._open: list[_OpenLoop | _Condition] = []
        self._names: set[str] = set()

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices of the open loops, outermost first."""
        return tuple(entry.index for entry in self._open if isinstance(entry, _OpenLoop))

    @property
    def is_open(self) -> bool:
        """Whether a loop or a condition is open."""
        return bool(self._open)

    def has_had(self, index: str) -> bool:
        """Whether an open or closed loop has an index of that name."""
        return index in self._names

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Close all loops and conditions opened in the block at its end."""
        depth = len(self._open)
        try:
            yield
        finally:
            del self._open[depth:]

    def open_loop(self, index: str, lower: Expression, upper: Expression, step: int) -> None:
        """Open a loop from ``lower`` to the exclusive end ``upper`` as the new innermost loop.

        With a negative step the loop counts down, and ``upper`` is the smaller end.
        """
        loop = _OpenLoop(index, lower, upper, step)
        self._children().append(loop)
        self._open.append(loop)
        self._names.add(index)

    def open_condition(self, condition: Expression) -> None:
        """Restrict the following statements to the instances where a condition holds."""
        self._open.append(_Condition(condition))

    def add(self, statement: str) -> None:
        """Append a statement to the innermost open loop."""
        self._children().append(statement)

    def instances(self, space: isl.Space, *, literal: bool = False) -> isl.Set:
        """The points that satisfy all open bounds and conditions.

        Args:
            space: a space with a dimension for each open loop.
            literal: ignore bounds and conditions that use a parameter.
        """
        points = isl.Set.universe(space)
        for entry in self._open:
            if not (literal and _names_parameter(entry)):
                points = points.intersect(_instances(entry, space))
        return points

    def tree(self, spaces: Mapping[str, isl.Space]) -> Node:
        """Build the loop tree of all declared statements.

        Args:
            spaces: the instance space of each statement.
        """
        return _body(self._top, spaces)

    def _children(self) -> list[_Child]:
        for entry in reversed(self._open):
            if isinstance(entry, _OpenLoop):
                return entry.children
        return self._top


def _body(children: Sequence[_Child], spaces: Mapping[str, isl.Space]) -> Node:
    # Loops without statements are dropped.
    return sequence([_node(child, spaces) for child in children if any(_statements(child))])


def _node(child: _Child, spaces: Mapping[str, isl.Space]) -> Node:
    if isinstance(child, str):
        return Leaf(child)
    index = Index(child.index)
    # A tree's loop runs in ascending order of its values, so a loop that counts down is negated.
    time = index if child.step > 0 else -index
    values = {name: to_pw_aff(time, spaces[name]) for name in _statements(child)}
    return Loop(child.index, MappingProxyType(values), _body(child.children, spaces))


def _statements(child: _Child) -> Iterator[str]:
    if isinstance(child, str):
        yield child
    else:
        for inner in child.children:
            yield from _statements(inner)


def _instances(entry: _OpenLoop | _Condition, space: isl.Space) -> isl.Set:
    """The points that satisfy the bounds of one loop, or one condition."""
    if isinstance(entry, _Condition):
        return to_set(entry.condition, space)
    index = Index(entry.index)
    down = entry.step < 0
    started = index <= entry.lower if down else entry.lower <= index
    goes_on = entry.upper < index if down else index < entry.upper
    points = to_set(started, space).intersect(to_set(goes_on, space))
    if abs(entry.step) == 1:
        return points
    offset = to_pw_aff(index - entry.lower, space).mod_val(isl.Val(abs(entry.step)))
    return points.intersect(offset.zero_set())


def _names_parameter(entry: _OpenLoop | _Condition) -> bool:
    expressions = (
        (entry.condition,) if isinstance(entry, _Condition) else (entry.lower, entry.upper)
    )
    return any(
        isinstance(node, Parameter) for expression in expressions for node in walk(expression)
    )
