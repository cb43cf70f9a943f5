"""Mending lifetimes that isl's AST generation has cut.

A mark around a sequence is copied to each part of the sequence when the loop around has a single
iteration. Then one lifetime comes out as several that follow each other, and what the first has written
would be gone in the second. As all tiles of a buffer share one piece of memory, making a lifetime longer
never changes a result; so the parts are joined.
"""

from __future__ import annotations

from collections import Counter

from polysched.loops.nodes import Allocate, Block, For, LoopNode, block, children, map_children


def merge_lifetimes(node: LoopNode) -> LoopNode:
    """Join the lifetimes of a buffer that stand in one block, from the first to the last of them.

    Lifetimes inside a further loop stay: each iteration of that loop has its own.
    """
    node = map_children(node, merge_lifetimes)
    if not isinstance(node, Block):
        return node
    counts = Counter(array for child in node.children for array in _straight(child))
    parts = list(node.children)
    for array in sorted(array for array, count in counts.items() if count > 1):
        holding = [index for index, part in enumerate(parts) if array in _straight(part)]
        first, last = holding[0], holding[-1]
        joined = block([_without(part, array) for part in parts[first : last + 1]])
        parts[first : last + 1] = [Allocate(array, joined)]
    return block(parts)


def _straight(node: LoopNode) -> frozenset[str]:
    """The buffers born below ``node`` outside of any loop in it."""
    if isinstance(node, For):
        return frozenset()
    own = frozenset({node.array}) if isinstance(node, Allocate) else frozenset[str]()
    return own.union(*map(_straight, children(node)))


def _without(node: LoopNode, array: str) -> LoopNode:
    """The node with the births of one buffer outside of any loop in it taken away."""
    if isinstance(node, For):
        return node
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
