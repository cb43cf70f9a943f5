"""Mending lifetimes that isl's AST generation has cut.

A mark around a sequence is copied to each part of the sequence when the loop around has a single
iteration. Then one lifetime comes out as several that follow each other, and what the first has
written would be gone in the second. As all tiles of a buffer share one piece of memory, making a
lifetime longer never changes a result; so the parts are joined.
"""

from __future__ import annotations

from polysched.loops.nodes import (
    Allocate,
    Block,
    For,
    LoopNode,
    block,
    children,
    map_children,
    walk,
)


def merge_lifetimes(node: LoopNode) -> LoopNode:
    """Join the parts of a lifetime that stand in one block, from the first to the last of them.

    Lifetimes inside a further loop are whole: each iteration of that loop has its own. What stands
    before such a loop and what stands after it are different lifetimes.
    """
    node = map_children(node, merge_lifetimes)
    if not isinstance(node, Block):
        return node
    parts = list(node.children)
    for array in sorted({array for part in parts for array in _straight(part)}):
        parts = _joined(parts, array)
    return block(parts)


def _joined(parts: list[LoopNode], array: str) -> list[LoopNode]:
    """The parts of a block with the lifetimes of one buffer between two loops over it made one."""
    result: list[LoopNode] = []
    run: list[LoopNode] = []
    for part in parts:
        if array in _straight(part) or (run and array not in _all(part)):
            run.append(part)
        else:
            result += [*_one_lifetime(run, array), part]
            run = []
    return result + _one_lifetime(run, array)


def _one_lifetime(run: list[LoopNode], array: str) -> list[LoopNode]:
    """A run of parts as one lifetime; what follows the last that needs the buffer stays outside."""
    holding = [index for index, part in enumerate(run) if array in _straight(part)]
    if len(holding) < 2:
        return run
    last = holding[-1] + 1
    return [Allocate(array, block([_without(part, array) for part in run[:last]])), *run[last:]]


def _all(node: LoopNode) -> frozenset[str]:
    return frozenset(inner.array for inner in walk(node) if isinstance(inner, Allocate))


def _straight(node: LoopNode) -> frozenset[str]:
    """The buffers born below ``node`` outside of any loop in it."""
    if isinstance(node, For):
        return frozenset()
    own = frozenset({node.array}) if isinstance(node, Allocate) else frozenset[str]()
    return own.union(*map(_straight, children(node)))


def _without(node: LoopNode, array: str) -> LoopNode:
    """The node with all births of one buffer taken away, for it is born around the node."""
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
