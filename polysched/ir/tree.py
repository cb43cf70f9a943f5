"""The loop tree: named loops, sequences and leaves that say when every statement instance runs.

::

    node = Loop(name, values, body, kind) | Sequence(children) | Leaf(statement)

A loop gives each statement below it a quasi-affine function from instances to the loop's value; an
instance runs in the iteration with its value, iterations run in ascending order, the children of a
sequence from first to last. Trees are frozen; every function here returns a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import TypeAlias

import islpy as isl


class LoopKind(Enum):
    """How the iterations of a loop run."""

    SEQUENTIAL = "for"
    PARALLEL = "parallel"
    UNROLLED = "unrolled"
    VECTOR = "vector"

    @property
    def is_loop_in_code(self) -> bool:
        """Whether generated code counts the iterations: they are neither copies nor lanes."""
        return self in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL)


class TransposeStrategy(Enum):
    """How a tile of vectors is transposed whose lanes lie rows apart in memory."""

    ELTWISE = "eltwise"
    """Rows in registers; every element is extracted and inserted."""
    SHUFFLE_1D = "shuffle_1d"
    """Rows in registers; one shuffle of the whole tile as one vector."""
    GATHER = "gather"
    """No tile: each vector is gathered or scattered on its own."""
    NETWORK = "network"
    """Rows in registers; stages of two-input shuffles."""


@dataclass(frozen=True)
class Ahead:
    """An array that each iteration of a loop asks for: what that ``distance`` later reads of it, to
    be in the cache of a ``level``. The distance counts iterations of the loop ``of``, which is this
    one or around it.
    """

    array: str
    distance: int
    level: int
    of: str


@dataclass(frozen=True, eq=False)
class Loop:
    """A named loop. ``values`` maps every statement below to its value as a function of the
    instance.

    A vector loop's values are lane numbers from 0 to ``lanes`` - 1; ``transposition`` says how its
    accesses are made whose lanes lie rows apart, None leaves it to the code generator. Of the
    arrays in ``prefetches`` a sequential loop asks for what a later iteration reads.
    """

    name: str
    values: Mapping[str, isl.PwAff]
    body: Node
    kind: LoopKind = LoopKind.SEQUENTIAL
    lanes: int = 1
    transposition: TransposeStrategy | None = None
    prefetches: tuple[Ahead, ...] = ()

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements below in the order of the tree."""
        return self.body.statements


@dataclass(frozen=True, eq=False)
class Sequence:
    """Children that run one after the other."""

    children: tuple[Node, ...]

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements below in the order of the tree."""
        return tuple(name for child in self.children for name in child.statements)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """For each statement below the position of the child in which it is."""
        return {
            name: position
            for position, child in enumerate(self.children)
            for name in child.statements
        }


@dataclass(frozen=True, eq=False)
class Leaf:
    """The place where the instances of one statement run."""

    statement: str

    @property
    def statements(self) -> tuple[str, ...]:
        """Its statement alone."""
        return (self.statement,)


Node: TypeAlias = Loop | Sequence | Leaf


def sequence(children: Iterator[Node] | list[Node] | tuple[Node, ...]) -> Node:
    """The children in order, nested sequences flattened; one child stands for itself."""
    flat: list[Node] = []
    for child in children:
        flat.extend(child.children if isinstance(child, Sequence) else (child,))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def statements(node: Node) -> tuple[str, ...]:
    """The names of the statements below ``node`` in the order of the tree."""
    return node.statements


def loops(node: Node) -> Iterator[Loop]:
    """All loops, an outer before an inner one."""
    open_nodes = [node]
    while open_nodes:
        match open_nodes.pop():
            case Loop() as loop:
                yield loop
                open_nodes.append(loop.body)
            case Sequence(children=children):
                open_nodes.extend(reversed(children))
            case Leaf():
                pass


def nest_depth(node: Node) -> int:
    """The largest number of loops around any statement."""
    match node:
        case Loop(body=body):
            return 1 + nest_depth(body)
        case Sequence(children=children):
            return max(map(nest_depth, children))
        case Leaf():
            return 0


def path(node: Node, statement: str) -> tuple[Loop, ...]:
    """The loops around a statement, the outermost first."""
    found: list[Loop] = []
    while not isinstance(node, Leaf):
        match node:
            case Loop():
                if statement not in node.values:
                    break
                found.append(node)
                node = node.body
            case Sequence(children=children, positions=positions):
                if statement not in positions:
                    break
                node = children[positions[statement]]
    return tuple(found)


def time_columns(node: Node, statement: str) -> tuple[isl.PwAff | int, ...]:
    """The timestamp of a statement's instances, outermost first.

    The values of the loops and the positions in the sequences on the way from ``node`` to the leaf.
    """
    match node:
        case Loop(values=values, body=body):
            return (values[statement], *time_columns(body, statement))
        case Sequence(children=children, positions=positions):
            position = positions[statement]
            return (position, *time_columns(children[position], statement))
        case Leaf():
            return ()


def rewrite(node: Node, old: Node, new: Callable[[Node], Node]) -> Node:
    """The tree with the node ``old`` (this very object) replaced by ``new(old)``."""
    if node is old:
        return new(node)
    match node:
        case Loop(body=body):
            changed = rewrite(body, old, new)
            return node if changed is body else replace(node, body=changed)
        case Sequence(children=children):
            # Every statement has one place.
            at = node.positions.get(old.statements[0])
            if at is None:
                return node
            part = rewrite(children[at], old, new)
            if part is children[at]:
                return node
            return sequence([*children[:at], part, *children[at + 1 :]])
        case Leaf():
            return node


@lru_cache(maxsize=16)
def executed(node: Node) -> Node:
    """The tree as it really runs: every vector loop stands directly around each statement below it.

    Lanes run together, statement by statement; so whatever else is inside a vector loop runs around
    it. For a tree that was given lately it is the same object.
    """
    return _sunk(node, ())


def _sunk(node: Node, vectors: tuple[Loop, ...]) -> Node:
    match node:
        case Loop(kind=LoopKind.VECTOR, body=body):
            return _sunk(body, (*vectors, node))
        case Loop(body=body):
            return replace(node, body=_sunk(body, vectors))
        case Sequence(children=children):
            return sequence([_sunk(child, vectors) for child in children])
        case Leaf(statement=statement):
            result: Node = node
            for loop in reversed(vectors):
                values = {statement: loop.values[statement]}
                result = replace(loop, values=values, body=result)
            return result


def restrict(node: Node, kept: Set[str]) -> Node | None:
    """The part of the tree that runs the statements in ``kept``; None where nothing is left."""
    match node:
        case Leaf(statement=statement):
            return node if statement in kept else None
        case Loop(values=values, body=body):
            inner = restrict(body, kept)
            if inner is None:
                return None
            return replace(
                node, values={name: v for name, v in values.items() if name in kept}, body=inner
            )
        case Sequence(children=children):
            parts = [part for child in children if (part := restrict(child, kept)) is not None]
            return sequence(parts) if parts else None


@dataclass(frozen=True)
class TreePosition:
    """Where a node stands: the loops around it, and its node."""

    around: tuple[Loop, ...]
    node: Node = field(repr=False)
