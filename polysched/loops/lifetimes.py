"""Mending lifetimes that isl's AST generation has cut.

isl generates the statements below a loop separately where their order allows it, and copies a mark
around them to each part. So one lifetime may come out as several that follow each other, and what
the first has written would be gone in the next. All tiles of a buffer share one piece of memory; so
making a lifetime longer never changes a result, and parts that may belong together are joined.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.ir.expressions import loads
from polysched.loops.nodes import Allocate, Assign, Block, LoopNode, block, map_children, walk


def merge_lifetimes(node: LoopNode) -> LoopNode:
    """Join the parts of a lifetime that stand in one block.

    What stays apart is whole: all the statements that use the buffer in the block take part in it,
    and it begins by writing.
    """
    node = map_children(node, merge_lifetimes)
    if not isinstance(node, Block):
        return node
    parts = list(node.children)
    for array in sorted(_born(node)):
        parts = _mended(parts, array)
    return block(parts)


def _mended(parts: list[LoopNode], array: str) -> list[LoopNode]:
    """The parts of a block with the lifetimes of one buffer joined."""
    users = {assign.statement for part in parts for assign in _uses(part, array)}
    groups: list[list[LoopNode]] = [[]]
    for part in parts:
        if array in _born(part) and _statements(groups[-1], array) == users:
            first = next(_uses(part, array), None)
            if first is not None and not _reads(first, array):
                groups.append([])
        groups[-1].append(part)
    while len(groups) > 1 and _statements(groups[-1], array) != users:
        groups[-2:] = [[*groups[-2], *groups[-1]]]
    return [part for group in groups for part in _one_lifetime(group, array)]


def _one_lifetime(group: list[LoopNode], array: str) -> list[LoopNode]:
    """A group as one lifetime, from the first to the last part that needs the buffer."""
    holding = [index for index, part in enumerate(group) if array in _born(part)]
    if len(holding) < 2:
        return group
    first, last = holding[0], holding[-1] + 1
    body = block([_without(part, array) for part in group[first:last]])
    return [*group[:first], Allocate(array, body), *group[last:]]


def _born(node: LoopNode) -> frozenset[str]:
    """The buffers born below a node."""
    return frozenset(inner.array for inner in walk(node) if isinstance(inner, Allocate))


def _uses(node: LoopNode, array: str) -> Iterator[Assign]:
    for inner in walk(node):
        if isinstance(inner, Assign) and (inner.target.array == array or _reads(inner, array)):
            yield inner


def _reads(assign: Assign, array: str) -> bool:
    return any(load.array == array for load in loads(assign.value))


def _statements(parts: list[LoopNode], array: str) -> set[str]:
    return {assign.statement for part in parts for assign in _uses(part, array)}


def _without(node: LoopNode, array: str) -> LoopNode:
    """The node with all births of one buffer taken away, for it is born around the node."""
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
