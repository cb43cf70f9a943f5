"""The loop tree: named loops, sequences and leaves that define the order of statement instances.

::

    node = Loop(name, values, body, kind) | Sequence(children) | Leaf(statement)

A loop maps the instances of each statement below it to loop values, by a quasi-affine function. An
instance runs in the iteration of its value. Iterations run in ascending order, and the children of
a sequence from first to last. Trees are immutable; every function here returns a new tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import TypeAlias

import islpy as isl


class LoopKind(Enum):
    """The execution mode of a loop's iterations."""

    SEQUENTIAL = "for"
    PARALLEL = "parallel"
    UNROLLED = "unrolled"
    VECTOR = "vector"

    @property
    def is_loop_in_code(self) -> bool:
        """Whether the generated code contains a loop, not unrolled copies or vector lanes."""
        return self in (LoopKind.SEQUENTIAL, LoopKind.PARALLEL)


class TransposeStrategy(Enum):
    """How to access vectors whose lanes are a row apart in memory."""

    ELTWISE = "eltwise"
    """Load rows and transpose them in registers by extracting and inserting single elements."""
    SHUFFLE_1D = "shuffle_1d"
    """Load rows and transpose them in registers by one shuffle of the whole tile as one vector."""
    GATHER = "gather"
    """Do not transpose: gather or scatter each vector."""
    NETWORK = "network"
    """Load rows and transpose them in registers by stages of two-input shuffles."""


@dataclass(frozen=True)
class TransposeDirective:
    """The directive to transpose tiles of a vector loop and an unrolled loop in registers.

    Attributes:
        strategy: how to transpose a tile.
        fewest: the smallest number of columns of a tile; fewer columns are gathered or scattered.
    """

    strategy: TransposeStrategy
    fewest: int = 2


@dataclass(frozen=True)
class PrefetchDirective:
    """A prefetch directive of a loop: fetch the elements of an array that a later iteration reads.

    Attributes:
        distance: the number of iterations of the loop ``of`` to prefetch ahead.
        level: the cache level to fetch into.
        of: the loop whose iterations count: the loop with the directive or a loop around it.
    """

    array: str
    distance: int
    level: int
    of: str


@dataclass(frozen=True)
class InstructionMark:
    """The directive to compute a nest by one machine instruction; each loop of the nest has it.

    Attributes:
        loop: the outermost loop of the nest.
        reassociates: whether the instruction adds the terms of a sum in an order of its own.
        is_tile: whether the instruction computes a tile, so that its loops are never written out.
    """

    instruction: str
    loop: str
    reassociates: bool = False
    is_tile: bool = False


@dataclass(frozen=True, eq=False)
class Loop:
    """A named loop.

    Attributes:
        values: for each statement below, the loop's value as a function of the instance. For a
            vector loop the value is the lane number, from 0 to ``lanes`` - 1.
        transposition: the directive for vector accesses whose lanes are a row apart; None to gather
            and scatter.
        prefetches: the prefetch directives of a sequential loop.
        instruction: the instruction that computes a nest with this loop; None for ordinary code.
    """

    name: str
    values: Mapping[str, isl.PwAff]
    body: Node
    kind: LoopKind = LoopKind.SEQUENTIAL
    lanes: int = 1
    transposition: TransposeDirective | None = None
    prefetches: tuple[PrefetchDirective, ...] = ()
    instruction: InstructionMark | None = None

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements below, in tree order."""
        return self.body.statements

    @property
    def is_plain(self) -> bool:
        """Whether no step has given the loop another kind or prefetches."""
        return self.kind is LoopKind.SEQUENTIAL and not self.prefetches

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "values": dict(self.values)}


@dataclass(frozen=True, eq=False)
class Sequence:
    """Children that run one after another."""

    children: tuple[Node, ...]

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """The names of the statements below, in tree order."""
        return tuple(name for child in self.children for name in child.statements)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """For each statement below, the position of the child that contains it."""
        return {
            name: position
            for position, child in enumerate(self.children)
            for name in child.statements
        }


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf: runs the instances of one statement."""

    statement: str

    @property
    def statements(self) -> tuple[str, ...]:
        """The name of the statement, as a tuple of one."""
        return (self.statement,)


Node: TypeAlias = Loop | Sequence | Leaf


def sequence(children: Iterator[Node] | list[Node] | tuple[Node, ...]) -> Node:
    """Build a sequence, flattening nested sequences; a single child is returned itself."""
    flat: list[Node] = []
    for child in children:
        flat.extend(parts(child))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def nested(nest: tuple[Loop, ...], body: Node) -> Node:
    """Nest loops around a node, which replaces the body of the last one."""
    for loop in reversed(nest):
        body = replace(loop, body=body)
    return body


def parts(node: Node) -> tuple[Node, ...]:
    """The children of a sequence; any other node alone."""
    return node.children if isinstance(node, Sequence) else (node,)


def statements(node: Node) -> tuple[str, ...]:
    """The names of the statements below ``node``, in tree order."""
    return node.statements


def loops(node: Node) -> Iterator[Loop]:
    """Iterate over all loops in preorder."""
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
    """The loops around a statement, outermost first."""
    around: list[Loop] = []
    while not isinstance(node, Leaf):
        match node:
            case Loop():
                if statement not in node.values:
                    break
                around.append(node)
                node = node.body
            case Sequence(children=children, positions=positions):
                if statement not in positions:
                    break
                node = children[positions[statement]]
    return tuple(around)


def time_columns(node: Node, statement: str) -> tuple[isl.PwAff | int, ...]:
    """The timestamp of a statement's instances, outermost column first.

    The columns are the loop values and positions in sequences on the path from ``node`` to the
    leaf.
    """
    match node:
        case Loop(values=values, body=body):
            return (values[statement], *time_columns(body, statement))
        case Sequence(children=children, positions=positions):
            position = positions[statement]
            return (position, *time_columns(children[position], statement))
        case Leaf():
            return ()


def map_children(node: Node, function: Callable[[Node], Node]) -> Node:
    """Apply ``function`` to the nodes directly below a node."""
    match node:
        case Loop(body=body):
            return replace(node, body=function(body))
        case Sequence(children=children):
            return sequence([function(child) for child in children])
        case Leaf():
            return node


def replace_node(node: Node, old: Node, new: Node) -> Node:
    """Replace the node ``old`` of a tree, compared by identity, with ``new``."""
    if node is old:
        return new
    match node:
        case Loop(body=body):
            changed = replace_node(body, old, new)
            return node if changed is body else replace(node, body=changed)
        case Sequence(children=children):
            # Each statement has one leaf, so only the child with old's statements can contain old.
            position = node.positions.get(old.statements[0])
            if position is None:
                return node
            child = replace_node(children[position], old, new)
            if child is children[position]:
                return node
            return sequence([*children[:position], child, *children[position + 1 :]])
        case Leaf():
            return node


@lru_cache(maxsize=16)
def executed(node: Node) -> Node:
    """The executed tree: vector loops are sunk to the leaves, around each statement.

    The lanes of a vector loop run together, statement by statement. So all other loops inside a
    vector loop run around it. Results of recent calls are cached: the same tree gives the same
    object.
    """
    return _sunk(node, ())


def _sunk(node: Node, vectors: tuple[Loop, ...]) -> Node:
    match node:
        case Loop(kind=LoopKind.VECTOR, body=body):
            return _sunk(body, (*vectors, node))
        case Leaf(statement=statement):
            result: Node = node
            for loop in reversed(vectors):
                values = {statement: loop.values[statement]}
                result = replace(loop, values=values, body=result)
            return result
        case _:
            return map_children(node, lambda child: _sunk(child, vectors))


def restrict(node: Node, kept: Set[str]) -> Node | None:
    """Restrict a tree to the statements in ``kept``; None if no statement remains."""
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
    """A node and the loops around it, outermost first."""

    around: tuple[Loop, ...]
    node: Node = field(repr=False)
