"""The imperative loop IR: what remains when isl has turned timestamps into loops.

::

    node = For(variable, lower, upper, step, kind, body) | If(condition, then, otherwise)
         | Block(children) | Allocate(array, body) | Assign(statement, instance, target, value)
         | InstructionCall(meaning, instruction, operands)
         | Transposition(meaning, rows, columns, strategy)

Expressions are those of :mod:`polysched.ir.expr.expressions`, over parameters and loop variables
(``Index(variable)``). A vector loop's body holds exactly one assignment (possibly under an ``If``
whose condition then is a mask): all lanes of it run together, every read before any write.

An instruction call and a transposition have a child ``meaning``: nodes that compute the same with
plain assignments. Code generation emits the node's own instructions; everything else reads the
meaning.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import islpy as isl

from polysched.instructions.declaration import Instruction
from polysched.instructions.lookup import Forms
from polysched.ir.core.kernel import Access, Array
from polysched.ir.core.tree import InstructionMark, LoopKind, TransposeDirective, TransposeStrategy
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear import (
    UNBOUNDED,
    Interval,
    Intervals,
    interval,
    linear_form,
    simplify,
)
from polysched.ir.expr.traversal import loads, transform


@dataclass(frozen=True)
class Prefetch:
    """A box of an array that is asked for, to be in a cache of a ``level``: from the subscripts in
    ``start``, which may lie outside of the array, with these extents.
    """

    array: str
    start: tuple[Expression, ...]
    extents: tuple[int, ...]
    level: int


@dataclass(frozen=True)
class For:
    """``for variable in range(lower, upper, step)``; ``loop`` is the name in the loop tree.

    The variable of a vector loop numbers lanes: ``0 <= lower``, ``upper <= lanes``. ``values`` are
    literal bounds of the variable outside of which nothing runs, whatever ``lower`` and ``upper``
    say; they are given for unrolled loops. ``transposition`` is what the schedule says of a vector
    loop's accesses whose lanes lie rows apart. ``prefetches`` are made at the start of every
    iteration; no value depends on them. ``instruction`` marks the loops of a nest that one machine
    instruction computes.
    """

    variable: str
    loop: str
    lower: Expression
    upper: Expression
    step: int
    kind: LoopKind
    body: LoopNode
    lanes: int = 1
    values: Interval = UNBOUNDED
    transposition: TransposeDirective | None = None
    prefetches: tuple[Prefetch, ...] = ()
    instruction: InstructionMark | None = None

    @property
    def bounds(self) -> Interval:
        """Literal bounds of the variable outside of which nothing runs."""
        return (0, self.lanes - 1) if self.kind is LoopKind.VECTOR else self.values


@dataclass(frozen=True)
class If:
    """``then`` runs where ``condition`` holds, else ``otherwise``."""

    condition: Expression
    then: LoopNode
    otherwise: LoopNode | None = None


@dataclass(frozen=True)
class Block:
    """Nodes that run one after the other."""

    children: tuple[LoopNode, ...]


@dataclass(frozen=True)
class Allocate:
    """The lifetime of a buffer: undefined on entry of ``body``, gone at its end.

    ``iteration`` gives the values of the loops of the tree around it, from the outermost inwards,
    None where unknown: parts of one lifetime agree.
    """

    array: str
    body: LoopNode
    iteration: tuple[Expression | None, ...] = ()


@dataclass(frozen=True)
class Assign:
    """One statement instance: ``target = value``.

    ``instance`` gives the values of the statement's own indices in terms of the loop variables.
    """

    statement: str
    instance: tuple[Expression, ...]
    target: Access
    value: Expression

    @cached_property
    def reads(self) -> tuple[Load, ...]:
        """What it reads: for its value in evaluation order, then for the place of its target."""
        places = (loads(subscript) for subscript in self.target.subscripts)
        return sum(places, loads(self.value))

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The arrays that it writes or reads."""
        return frozenset({self.target.array, *(load.array for load in self.reads)})


@dataclass(frozen=True)
class InstructionCall:
    """A nest that one machine instruction computes, in all lanes of the vector loop around it.

    Attributes:
        meaning: the assignment of the whole nest.
        instruction: the instruction.
        operands: for each input array of the instruction, the constant or the load of the first
            element that takes its place; in the order in which the statement reads them.
    """

    meaning: Assign
    instruction: Instruction
    operands: tuple[tuple[str, Load | Constant], ...]


class Interleaving(Enum):
    """A permutation of the elements of n vectors of equal length."""

    SPLIT = "split"
    """Element ``n * lane + number`` of all vectors becomes a lane of vector ``number``."""

    JOIN = "join"
    """The inverse of ``SPLIT``."""


@dataclass(frozen=True)
class Transposition:
    """``columns[u, l] = rows[l, u]`` for two register tiles, all elements at once.

    A register tile is a register array of two dimensions with one vector register for each index
    of the first dimension.

    Attributes:
        meaning: the assignments of all elements.
        rows: the tile that is read.
        columns: the tile that is written.
        strategy: how the tile is transposed.
        interleaving: if given, one of the tiles holds short rows that are contiguous in memory, in
            whole vectors, and the vectors are split or joined.
    """

    meaning: Block
    rows: str
    columns: str
    strategy: TransposeStrategy
    interleaving: Interleaving | None = None


LoopNode: TypeAlias = For | If | Block | Allocate | Assign | InstructionCall | Transposition


@dataclass(frozen=True, eq=False)
class LoopProgram:
    """A whole program in loops.

    ``arrays`` holds arguments, kernel temporaries (live over the whole call; their role is
    TEMPORARY and no ``Allocate`` names them) and buffers (named by an ``Allocate``). Of a buffer
    only ``Array.stored_shape`` takes memory, and its accesses have subscripts for these dimensions
    only. ``ranges`` holds the literal bounds that ``context`` puts on each parameter.
    ``fp_contract`` is the kernel's: whether ``a * b + c`` may round once. ``registers`` names the
    arrays that :mod:`polysched.vector.pass_list` keep in registers; none before these passes.
    ``instructions`` holds the forms of each instruction that a loop is marked with.
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    ranges: Intervals
    arrays: Mapping[str, Array]
    body: LoopNode
    fp_contract: bool = True
    registers: tuple[str, ...] = ()
    instructions: Mapping[str, Forms] = field(default_factory=dict)


def block(children: Iterator[LoopNode] | list[LoopNode] | tuple[LoopNode, ...]) -> LoopNode:
    """The nodes in order, nested blocks flattened; one node stands for itself."""
    flat: list[LoopNode] = []
    for child in children:
        flat.extend(child.children if isinstance(child, Block) else (child,))
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def children(node: LoopNode) -> tuple[LoopNode, ...]:
    """The nodes directly below."""
    match node:
        case For(body=body) | Allocate(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
        case Block(children=inner):
            return inner
        case InstructionCall(meaning=meaning) | Transposition(meaning=meaning):
            return (meaning,)
        case Assign():
            return ()


def walk(node: LoopNode) -> Iterator[LoopNode]:
    """All nodes, an outer before an inner one."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        open_nodes.extend(reversed(children(node)))


def map_children(node: LoopNode, function: Callable[[LoopNode], LoopNode]) -> LoopNode:
    """The same node with ``function`` applied to the nodes directly below.

    What nothing is changed in stays the same object.
    """
    before = children(node)
    after = [function(child) for child in before]
    if all(map(operator.is_, before, after)):
        return node
    match node:
        case For() | Allocate():
            return replace(node, body=after[0])
        case If():
            return replace(node, then=after[0], otherwise=after[1] if after[1:] else None)
        case Block():
            return block(after)
        case InstructionCall():
            assert isinstance(after[0], Assign)
            return replace(node, meaning=after[0])
        case Transposition():
            whole = after[0]
            return replace(node, meaning=whole if isinstance(whole, Block) else Block((whole,)))
        case Assign():
            return node


def with_value(node: LoopNode, variable: str, value: Expression, known: Intervals) -> LoopNode:
    """Substitute a value for the variable of a loop around.

    Args:
        node: loops without instruction calls and transpositions.
        variable: the name of the variable.
        value: its value, over the variables of the loops around.
        known: intervals of these, by which subscripts are simplified.
    """

    def rule(found: Expression) -> Expression | None:
        if isinstance(found, Load):
            return replace(found, subscripts=integers(found.subscripts))
        return value if isinstance(found, Index) and found.name == variable else None

    def integer(expression: Expression) -> Expression:
        return simplify(transform(expression, rule), known)

    def integers(expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(map(integer, expressions))

    match node:
        case For():
            prefetches = tuple(replace(one, start=integers(one.start)) for one in node.prefetches)
            lower, upper = integers((node.lower, node.upper))
            node = replace(node, lower=lower, upper=upper, prefetches=prefetches)
        case If():
            node = replace(node, condition=transform(node.condition, rule))
        case Allocate():
            iteration = tuple(one if one is None else integer(one) for one in node.iteration)
            node = replace(node, iteration=iteration)
        case Assign(target=target):
            return replace(
                node,
                instance=integers(node.instance),
                target=replace(target, subscripts=integers(target.subscripts)),
                value=transform(node.value, rule),
            )
    return map_children(node, lambda child: with_value(child, variable, value, known))


def variable_interval(lower: Expression, upper: Expression, known: Intervals) -> Interval:
    """The interval of a loop's variable."""
    low, _ = interval(linear_form(lower, known), known)
    _, high = interval(linear_form(upper, known), known)
    return low, None if high is None else high - 1
