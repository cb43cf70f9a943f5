"""Placement of tile configurations.

A tile register has one shape in a configuration, and a new configuration clears all registers. So
each configuration is placed around as large a part of the program as its shapes suit. Threads have
configurations of their own, inside a parallel loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.instructions.amx import TILE_REGISTERS
from polysched.vector.ir import (
    Branch,
    Loop,
    Node,
    Shape,
    TileCompute,
    TileLoad,
    Tiles,
    TileStore,
    walk,
)
from polysched.vector.ir import Sequence as Nodes

Shapes: TypeAlias = tuple[Shape | None, ...]
"""The shape of each tile register; None for an unused one."""


def sequence(nodes: Sequence[Node]) -> Node:
    """Nodes in order; a single node is returned as it is."""
    return nodes[0] if len(nodes) == 1 else Nodes(tuple(nodes))


def configured(node: Node) -> Node:
    """Move the configurations in a node outwards, as far as one suits all that is inside."""
    return _placed(node).whole()


@dataclass(frozen=True)
class _Placed:
    """A node, and the shapes of the registers that it needs from outside; None if it needs none."""

    node: Node
    shapes: Shapes | None = None
    is_closed: bool = False
    """Whether configurations are inside the node, so that none may be around it."""

    def whole(self) -> Node:
        """The node with its configuration, from its first to its last tile."""
        if self.shapes is None:
            return self.node
        nodes = self.node.nodes if isinstance(self.node, Nodes) else (self.node,)
        using = [at for at, node in enumerate(nodes) if any(map(_uses_tiles, walk(node)))]
        first, end = using[0], using[-1] + 1
        inside = Tiles(self.shapes, sequence(nodes[first:end]))
        return sequence([*nodes[:first], inside, *nodes[end:]])


def _placed(node: Node) -> _Placed:
    """Move the configurations in a node outwards, as far as one suits all of the node."""
    match node:
        case Tiles(shapes=shapes, body=body):
            return _Placed(body, shapes)
        case Nodes(nodes=nodes):
            parts = [_placed(child) for child in nodes]
            joined = _joined(parts)
            if joined is not None:
                return _Placed(Nodes(tuple(part.node for part in parts)), joined)
            return _Placed(Nodes(tuple(part.whole() for part in parts)), None, _any_tiles(parts))
        case Loop(body=body, region=region):
            inner = _placed(body)
            if region is None and not inner.is_closed:
                return replace(inner, node=replace(node, body=inner.node))
            return _Placed(replace(node, body=inner.whole()), None, _any_tiles([inner]))
        case Branch(then=then, otherwise=otherwise):
            parts = [_placed(child) for child in (then, otherwise) if child is not None]
            joined = _joined(parts)
            ends = [part.whole() if joined is None else part.node for part in parts]
            whole = replace(node, then=ends[0], otherwise=ends[1] if ends[1:] else None)
            return _Placed(whole, joined, joined is None and _any_tiles(parts))
    return _Placed(node)


def _uses_tiles(node: Node) -> bool:
    return isinstance(node, TileLoad | TileStore | TileCompute)


def _any_tiles(parts: list[_Placed]) -> bool:
    return any(part.is_closed or part.shapes is not None for part in parts)


def _joined(parts: list[_Placed]) -> Shapes | None:
    """One configuration for all parts; None if there is none, or if no part needs one."""
    if any(part.is_closed for part in parts):
        return None
    joined: list[Shape | None] = [None] * TILE_REGISTERS
    needed = [part.shapes for part in parts if part.shapes is not None]
    for shapes in needed:
        for number, shape in enumerate(shapes):
            if shape is not None and joined[number] not in (None, shape):
                return None
            joined[number] = shape or joined[number]
    return tuple(joined) if needed else None
