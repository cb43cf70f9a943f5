"""Mending lifetimes that isl's AST generation has cut.

isl generates the statements below a loop separately where their order allows it, and copies a mark
around them to each part. So one lifetime may come out as several that follow each other, and what
the first has written would be gone in the next. All tiles of a buffer share one piece of memory, so
making a lifetime longer never changes a result: parts are joined unless they provably belong to
different iterations of the loops around.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from polysched.ir.expressions import Expression, Index
from polysched.ir.linear import Interval, Intervals, LinearForm, interval, linear_form
from polysched.ir.traversal import transform
from polysched.loops.nodes import (
    Allocate,
    Block,
    For,
    LoopNode,
    block,
    children,
    map_children,
    variable_interval,
    walk,
)


@dataclass(frozen=True)
class _Birth:
    """Where a lifetime begins: its iteration, and intervals of the variables bound on the way."""

    iteration: tuple[Expression | None, ...]
    own: tuple[tuple[str, Interval], ...]


def merge_lifetimes(node: LoopNode, known: Intervals) -> LoopNode:
    """Join the parts of lifetimes that may belong to one iteration of the loops around.

    Args:
        node: loops as isl generated them.
        known: intervals of the parameters and of the variables around ``node``.
    """
    if isinstance(node, For):
        inside = {**known, node.variable: variable_interval(node.lower, node.upper, known)}
        return map_children(node, lambda child: merge_lifetimes(child, inside))
    node = map_children(node, lambda child: merge_lifetimes(child, known))
    if not isinstance(node, Block):
        return node
    parts = list(node.children)
    for array in sorted({one.array for one in walk(node) if isinstance(one, Allocate)}):
        parts = _joined(parts, array, known)
    return block(parts)


def _joined(parts: list[LoopNode], array: str, known: Intervals) -> list[LoopNode]:
    """The parts of a block with the lifetimes of one buffer joined where they may be one."""
    groups: list[list[LoopNode]] = []
    for part in parts:
        births = list(_births(part, array, known, ()))
        together = [
            index
            for index, group in enumerate(groups)
            if any(
                not _apart(earlier, later, known)
                for member in group
                for earlier in _births(member, array, known, ())
                for later in births
            )
        ]
        first = min(together, default=len(groups))
        groups[first:] = [[member for group in groups[first:] for member in group] + [part]]
    return [one for group in groups for one in _one_lifetime(group, array)]


def _births(
    node: LoopNode, array: str, known: Intervals, own: tuple[tuple[str, Interval], ...]
) -> Iterator[_Birth]:
    match node:
        case Allocate() if node.array == array:
            yield _Birth(node.iteration, own)
        case For():
            reached = variable_interval(node.lower, node.upper, {**known, **dict(own)})
            yield from _births(node.body, array, known, (*own, (node.variable, reached)))
        case _:
            for child in children(node):
                yield from _births(child, array, known, own)


def _apart(one: _Birth, other: _Birth, known: Intervals) -> bool:
    """Whether two births provably belong to different iterations of the loops around."""
    intervals = {**known, **dict(one.own)}
    renaming = {name: Index(f"{name}'") for name, _ in other.own}
    intervals |= {renaming[name].name: bounds for name, bounds in other.own}
    # A lifetime joined of different iterations has none of its own: it is apart from nothing.
    for mine, its in zip(one.iteration, other.iteration, strict=False):
        if mine is None or its is None:
            continue
        difference = linear_form(mine, {}).plus(_renamed(its, renaming), -1)
        low, high = interval(difference, intervals)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return True
    return False


def _renamed(expression: Expression, renaming: dict[str, Index]) -> LinearForm:
    changed = transform(
        expression, lambda node: renaming.get(node.name) if isinstance(node, Index) else None
    )
    return linear_form(changed, {})


def _one_lifetime(group: list[LoopNode], array: str) -> list[LoopNode]:
    """A group as one lifetime, from the first to the last part that needs the buffer."""
    holding = [index for index, part in enumerate(group) if _is_born(part, array)]
    if len(holding) < 2:
        return group
    first, last = holding[0], holding[-1] + 1
    body = block([_without(part, array) for part in group[first:last]])
    iterations = {one.iteration for part in group for one in walk(part) if _is_birth(one, array)}
    iteration = iterations.pop() if len(iterations) == 1 else ()
    return [*group[:first], Allocate(array, body, iteration), *group[last:]]


def _is_born(node: LoopNode, array: str) -> bool:
    return any(_is_birth(one, array) for one in walk(node))


def _is_birth(node: LoopNode, array: str) -> TypeGuard[Allocate]:
    return isinstance(node, Allocate) and node.array == array


def _without(node: LoopNode, array: str) -> LoopNode:
    """The node with all births of one buffer taken away, for it is born around the node."""
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
