"""The loop IR: an imperative program of loops, conditions and assignments.

::

    node = For(variable, lower, upper, step, kind, body, until) | If(condition, then, otherwise)
         | Block(children) | Allocate(array, body) | Assign(statement, instance, target, value)
         | InstructionCall(meaning, instruction, operands)
         | TileCall(meaning, instruction, sizes, tiles)
         | Transposition(meaning, rows, columns, strategy)

Expressions are those of :mod:`polysched.ir.expr.expressions`, over parameters and loop variables
(``Index(variable)``). A vector loop's body holds exactly one assignment (possibly under an ``If``
whose condition then is a mask): all lanes of it run together, every read before any write.

An instruction call, a tile call and a transposition have a child ``meaning``: nodes that compute
the same with plain assignments. Code generation emits the node's own instructions; everything else
reads the meaning.
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
from polysched.ir.expr.linear import interval, linear_form, simplify
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, Intervals
from polysched.ir.expr.traversal import loads, transform


@dataclass(frozen=True)
class Prefetch:
    """Prefetch a box of an array into the cache of a ``level``.

    The box begins at the subscripts ``start``, which may lie outside of the array.
    """

    array: str
    start: tuple[Expression, ...]
    extents: tuple[int, ...]
    level: int


@dataclass(frozen=True)
class For:
    """``for variable in range(lower, upper, step)``; ``loop`` is the name in the loop tree.

    The variable of a vector loop numbers lanes: ``0 <= lower``, ``upper <= lanes``.

    Attributes:
        values: literal bounds of the variable of an unrolled loop: nothing runs outside of them,
            even if ``lower`` and ``upper`` do not imply it.
        transposition: how a vector loop's accesses whose lanes lie rows apart are transposed.
        prefetches: executed at the start of every iteration; no value depends on them.
        instruction: mark of the loops of a nest that one machine instruction computes.
        until: the loop ends before the first iteration in which this condition holds; the others
            change nothing. None if all iterations run.
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
    until: Expression | None = None

    @property
    def bounds(self) -> Interval:
        """Literal bounds of the values of the variable for which the body runs."""
        return (0, self.lanes - 1) if self.kind is LoopKind.VECTOR else self.values


@dataclass(frozen=True)
class If:
    """Run ``then`` if ``condition`` holds, else ``otherwise``.

    Attributes:
        leaves: whether ``until`` of the innermost loop around holds after ``then``, and nothing
            else in the iteration runs, so that the code may leave the loop there.
    """

    condition: Expression
    then: LoopNode
    otherwise: LoopNode | None = None
    leaves: bool = False


@dataclass(frozen=True)
class Block:
    """A sequence of nodes."""

    children: tuple[LoopNode, ...]


@dataclass(frozen=True)
class Allocate:
    """The lifetime of a buffer: its contents are undefined on entry and lost at the end.

    ``iteration`` gives the values of the schedule tree's loops around the lifetime, from the
    outermost inwards; None for an unknown value. Parts of one lifetime have equal values.
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
        """The loads of its value in evaluation order, then those of its target's subscripts."""
        of_subscripts = (loads(subscript) for subscript in self.target.subscripts)
        return sum(of_subscripts, loads(self.value))

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The arrays that the assignment writes or reads."""
        return frozenset({self.target.array, *(load.array for load in self.reads)})


@dataclass(frozen=True)
class InstructionCall:
    """A nest that one machine instruction computes, in all lanes of the vector loop around it.

    Attributes:
        meaning: the assignment of the whole nest.
        operands: for each input array of the instruction, a constant or the load of its first
            element; in the order in which the statement reads them.
    """

    meaning: Assign
    instruction: Instruction
    operands: tuple[tuple[str, Load | Constant], ...]


@dataclass(frozen=True)
class TileBox:
    """The elements of a tile in memory: rows of consecutive elements.

    Attributes:
        first: its first element.
        distance: elements between rows, or indices of ``dimension``.
        dimension: the dimension whose stride, known only at run time, is the unit of ``distance``;
            None if the unit is an element.
        steps: triples of a dimension of the array, a dimension of the instruction, and the
            difference of the subscripts of its consecutive iterations.
    """

    first: Access
    distance: int
    dimension: int | None
    steps: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True)
class TileCall:
    """A nest that one instruction on tiles computes.

    Attributes:
        meaning: the nest as sequential loops around a vector loop.
        sizes: the iterations of each dimension of the instruction; none run if one is not positive.
        tiles: the tiles of the target and of each input array of the instruction.
    """

    meaning: For
    instruction: Instruction
    sizes: tuple[tuple[str, Expression], ...]
    tiles: tuple[tuple[str, TileBox], ...]


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


LoopNode: TypeAlias = (
    For | If | Block | Allocate | Assign | InstructionCall | TileCall | Transposition
)


@dataclass(frozen=True, eq=False)
class LoopProgram:
    """A whole program in loops.

    Attributes:
        arrays: arguments, temporaries of the kernel and buffers, by name. Temporaries live over the
            whole call: their role is TEMPORARY, and no ``Allocate`` names them. Buffers are named
            by an ``Allocate``; only ``Array.stored_shape`` takes memory, and accesses to a buffer
            have subscripts for its stored dimensions only.
        ranges: the literal bounds that ``context`` puts on each parameter.
        fp_contract: whether ``a * b + c`` may round once, as the kernel permits.
        registers: arrays that the passes of :mod:`polysched.vector.pass_list` keep in registers,
            each with the array whose elements it holds; empty before these passes.
        instructions: the forms of each instruction that a loop is marked with.
        reassociated: the statements whose updates LLVM may combine in any order: reductions of a
            program without a schedule.
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    ranges: Intervals
    arrays: Mapping[str, Array]
    body: LoopNode
    fp_contract: bool = True
    registers: Mapping[str, str] = field(default_factory=dict)
    instructions: Mapping[str, Forms] = field(default_factory=dict)
    reassociated: frozenset[str] = frozenset()


def block(children: Iterator[LoopNode] | list[LoopNode] | tuple[LoopNode, ...]) -> LoopNode:
    """Concatenate nodes, flattening nested blocks; a single node is returned as it is."""
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
        case (
            InstructionCall(meaning=meaning)
            | TileCall(meaning=meaning)
            | Transposition(meaning=meaning)
        ):
            return (meaning,)
        case Assign():
            return ()


def controls(node: LoopNode) -> tuple[Expression, ...]:
    """The expressions that decide what runs: a loop's bounds and early end, or a condition."""
    match node:
        case For(lower=lower, upper=upper, until=until):
            return (lower, upper) if until is None else (lower, upper, until)
        case If(condition=condition):
            return (condition,)
    return ()


def walk(node: LoopNode) -> Iterator[LoopNode]:
    """All nodes, outer nodes before inner ones."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        open_nodes.extend(reversed(children(node)))


def map_children(node: LoopNode, function: Callable[[LoopNode], LoopNode]) -> LoopNode:
    """Apply ``function`` to the nodes directly below a node.

    Returns the same object if ``function`` changes nothing.
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
        case TileCall():
            assert isinstance(after[0], For)
            return replace(node, meaning=after[0])
        case Transposition():
            whole = after[0]
            return replace(node, meaning=whole if isinstance(whole, Block) else Block((whole,)))
        case Assign():
            return node


def with_value(node: LoopNode, variable: str, value: Expression, known: Intervals) -> LoopNode:
    """Substitute a value for the variable of a loop around a node.

    Args:
        node: loops without instruction calls and transpositions.
        variable: the name of the variable.
        value: an expression over the variables of the other loops around.
        known: intervals of these variables, by which subscripts are simplified.
    """

    def rule(part: Expression) -> Expression | None:
        if isinstance(part, Load):
            return replace(part, subscripts=integers(part.subscripts))
        return value if isinstance(part, Index) and part.name == variable else None

    def integer(expression: Expression) -> Expression:
        return simplify(transform(expression, rule), known)

    def integers(expressions: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(map(integer, expressions))

    match node:
        case For():
            prefetches = tuple(replace(box, start=integers(box.start)) for box in node.prefetches)
            lower, upper = integers((node.lower, node.upper))
            until = None if node.until is None else transform(node.until, rule)
            node = replace(node, lower=lower, upper=upper, prefetches=prefetches, until=until)
        case If():
            node = replace(node, condition=transform(node.condition, rule))
        case Allocate():
            iteration = tuple(None if value is None else integer(value) for value in node.iteration)
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
