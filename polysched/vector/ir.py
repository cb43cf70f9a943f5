"""The vector IR: vector statements with explicit lanes, masks and memory accesses.

The pass :mod:`polysched.vector.passes.vectorize` builds a vector program from loops, later passes
rewrite it, and :mod:`polysched.llvm.emit.nodes` translates it to LLVM IR node by node::

    program   = VectorProgram(name, parameters, arrays, layouts, frame, body)
    node      = Sequence(nodes)
              | Loop(variable, lower, upper, step, runs, region, until, body)
              | Branch(condition, then, otherwise)
              | Assign(target, value, lanes)               one element, or one for each lane
              | Call(target, before, instruction, operands, lanes)     a machine instruction
              | Transpose(rows, columns, strategy, interleaving)
              | Prefetch(address, level)
              | TileCall(statement, instruction, sizes, tiles)
              | Tiles(shapes, body)                        a configuration of tile registers
              | TileLoad(register, tile) | TileStore(register, tile)
              | TileCompute(statement, instruction, sizes, registers)

    tile      = Tile(address, rows, columns, distance, dimension, place, extents)
    target    = Store(access) | Stream(access) | Keep(register, masked)
    value     = Constant | Index | Parameter               scalar expressions of the loop IR
              | Lane()                                      0, 1, 2, ... in the lanes
              | Sum(terms, constant)                        a linear form, i64
              | Apply(operator, operands, dtype, contract) | Convert(operand, dtype)
              | Load(access, dtype, where) | Unpack(access, dtype)
              | Register(array, number, dtype, lanes)
              | Shuffle(first, second, lanes) | First(element)

    lanes     = Lanes(count, active, some)                  None: a scalar statement
    active    = All() | Only(lanes) | Range(lower, upper, step) | Predicate(condition, within)

    access    = Access(address, movement, alignment, private)
    address   = Address(array, terms, constant, scaled, unit, phase)
    movement  = BROADCAST | CONTIGUOUS | REVERSED
              | Offsets(distances) | Window(distances, reach)
              | RuntimeStride(steps, literal) | Gather(subscripts)
              | Lookup(subscripts)

A scalar operand of a vector operation is broadcast to all lanes. A statement reads all operands
before it writes. Inactive lanes read and write no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import islpy as isl

from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Array
from polysched.ir.core.tree import TransposeStrategy
from polysched.ir.expr.expressions import Constant
from polysched.loops.ir.nodes import Interleaving
from polysched.vector.values import Access, Address, Lanes, Load, Register, Sum, Value

# -- statements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Store:
    """Write to memory."""

    access: Access


@dataclass(frozen=True)
class Stream:
    """Write whole vectors to memory with stores that bypass the caches."""

    access: Access


@dataclass(frozen=True)
class Keep:
    """Write a register array.

    Attributes:
        register: the register array and the vector in it.
        masked: whether inactive lanes keep their content; if not, they are undefined afterward.
    """

    register: Register
    masked: bool = True


Target: TypeAlias = Store | Stream | Keep


@dataclass(frozen=True)
class Assign:
    """``target = value`` in the active lanes; ``statement`` is the statement's name."""

    statement: str
    target: Target
    value: Value
    lanes: Lanes | None


@dataclass(frozen=True)
class Call:
    """Compute a loop nest by one machine instruction.

    Attributes:
        target: the location of the results, one for each lane.
        before: the previous content of the target; None if the instruction does not read it.
        operands: for each input array of the instruction, a constant or an access. A lane reads
            consecutive elements of the operand. The elements of the next lane follow, or are the
            same.
    """

    statement: str
    target: Target
    before: Value | None
    instruction: Instruction
    operands: tuple[tuple[str, Load | Constant], ...]
    lanes: Lanes


@dataclass(frozen=True)
class Transpose:
    """Transpose, split or join a register tile, which is a register array of several vectors.

    Attributes:
        rows: the tile that is read.
        columns: the tile that is written.
        strategy: the instructions that transpose a tile.
        interleaving: the order in which elements are split or joined; None for a transposition,
            ``columns[i][j] = rows[j][i]``.
    """

    rows: str
    columns: str
    strategy: TransposeStrategy
    interleaving: Interleaving | None = None


@dataclass(frozen=True)
class Prefetch:
    """Prefetch a cache line into the cache of a level from 1 to 3."""

    address: Address
    level: int


@dataclass(frozen=True)
class Tile:
    """Rows of consecutive elements of an array in memory.

    Attributes:
        address: the address of the first element.
        rows: the number of rows.
        columns: the number of elements of a row.
        distance: elements between rows, or indices of ``dimension``.
        dimension: the dimension whose stride, known only at run time, is the unit of ``distance``;
            None if the unit is an element.
        place: the subscripts of the first element.
        extents: the subscripts that the tile covers in each dimension, from the first one.
    """

    address: Address
    rows: int
    columns: int
    distance: int
    dimension: int | None
    place: tuple[Sum, ...]
    extents: tuple[int, ...]


Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""The iterations of each dimension of an instruction on tiles."""


@dataclass(frozen=True)
class TileCall:
    """Compute a loop nest by one instruction on tiles in memory.

    Attributes:
        sizes: the iterations of each of its dimensions.
        tiles: the tiles of the target, which comes first, and of each input array.
    """

    statement: str
    instruction: Instruction
    sizes: Sizes
    tiles: tuple[tuple[str, Tile], ...]


@dataclass(frozen=True)
class TileLoad:
    """Load a tile register."""

    register: int
    tile: Tile


@dataclass(frozen=True)
class TileStore:
    """Store a tile register."""

    register: int
    tile: Tile


@dataclass(frozen=True)
class TileCompute:
    """Run an instruction on tile registers: those of the target, then of each input array."""

    statement: str
    instruction: Instruction
    sizes: Sizes
    registers: tuple[tuple[str, int], ...]


TileStatement: TypeAlias = TileCall | TileLoad | TileStore | TileCompute
Statement: TypeAlias = Assign | Call | Transpose | Prefetch | TileStatement

# -- control flow ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """The arrays of a function.

    Attributes:
        outside: arrays whose addresses are arguments of the function.
        stack: arrays on the function's stack.
        heap: arrays in memory allocated once for the whole call, or once for each thread.
        registers: register arrays.
    """

    outside: tuple[str, ...]
    stack: tuple[str, ...]
    heap: tuple[str, ...]
    registers: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """``for variable in range(lower, upper, step)``; ``name`` is the loop's name in the schedule.

    Attributes:
        runs: whether at least one iteration provably runs.
        region: the frame of the function of a parallel loop whose iterations threads share;
            None for all other loops.
        until: the loop ends before the first iteration in which this condition holds; None if all
            iterations run.
    """

    variable: str
    name: str
    lower: Value
    upper: Value
    step: int
    runs: bool
    body: Node
    region: Frame | None = None
    until: Value | None = None


@dataclass(frozen=True)
class Branch:
    """Run ``then`` if the condition holds, else ``otherwise``.

    Attributes:
        leaves: whether ``until`` of the innermost loop around holds after ``then``, and nothing
            else in the iteration runs, so that the code may leave the loop there.
    """

    condition: Value
    then: Node
    otherwise: Node | None = None
    leaves: bool = False


@dataclass(frozen=True)
class Sequence:
    """Run nodes in order."""

    nodes: tuple[Node, ...]


Shape: TypeAlias = tuple[int, int]
"""The rows of a tile register, and the bytes of a row."""


@dataclass(frozen=True)
class Tiles:
    """Run a node with a configuration of the tile registers, which are undefined at its start.

    Attributes:
        shapes: the shape of each register; None for an unused register.
    """

    shapes: tuple[Shape | None, ...]
    body: Node


Node: TypeAlias = Sequence | Loop | Branch | Tiles | Statement


@dataclass(frozen=True)
class Layout:
    """The memory layout of an array: linear forms over the parameters.

    Attributes:
        extents: the number of elements of each stored dimension.
        strides: elements between consecutive indices of each dimension; None for row-major order.
    """

    extents: tuple[Sum, ...]
    strides: tuple[Sum, ...] | None


@dataclass(frozen=True)
class VectorProgram:
    """A vector program: its interface, arrays and statements.

    Attributes:
        arrays: all arrays by name, including register arrays.
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    arrays: Mapping[str, Array]
    layouts: Mapping[str, Layout]
    frame: Frame
    body: Node


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    match node:
        case Sequence(nodes=nodes):
            return nodes
        case Loop(body=body) | Tiles(body=body):
            return (body,)
        case Branch(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yield all nodes in preorder."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        open_nodes.extend(reversed(children(node)))
