"""The vector IR: a program in which every decision about vectors is data.

The pass :mod:`polysched.vector.vectorize` makes it from loops, later passes rewrite it, and
:mod:`polysched.codegen.emit` prints it as LLVM IR node by node::

    program   = VectorProgram(name, parameters, arrays, layouts, frame, body)
    node      = Sequence(nodes)
              | Loop(variable, lower, upper, step, runs, region, body)
              | Branch(condition, then, otherwise)
              | Assign(target, value, lanes)               one element, or one for each lane
              | DotProduct(target, factors, terms, lanes)  target[lane] += sum of products
              | Transpose(rows, columns, strategy, interleaving)
              | Prefetch(address, level)

    target    = Store(access) | Stream(access) | Keep(register, masked)
    value     = Constant | Index | Parameter               scalars, as in polysched.ir.expressions
              | Lane()                                      0, 1, 2, ... in the lanes
              | Sum(terms, constant)                        a linear form, i64
              | Apply(operator, operands, dtype, contract) | Convert(operand, dtype)
              | Load(access, dtype) | Unpack(access, dtype) | Register(array, number, dtype, lanes)
              | Shuffle(first, second, lanes) | First(element)

    lanes     = Lanes(count, active, some)                  None: a scalar statement
    active    = All() | Only(lanes) | Range(lower, upper, step) | Predicate(condition, within)

    access    = Access(address, movement, alignment, private)
    address   = Address(array, terms, constant, scaled, unit, phase)
    movement  = BROADCAST | CONTIGUOUS | REVERSED
              | Offsets(distances) | Window(distances) | Gather(subscripts)

A scalar and a vector in one operation mean that the scalar is the same in every lane. A statement
reads everything before it writes anything; lanes that are not active read and write no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

import islpy as isl

from polysched.ir.dtypes import DType
from polysched.ir.expressions import Constant, Index, Parameter
from polysched.ir.kernel import Array
from polysched.ir.operators import Operator
from polysched.ir.tree import TransposeStrategy

# -- memory accesses ---------------------------------------------------------------------------


class Uniform(Enum):
    """How an access moves from lane to lane, where no further data is needed."""

    BROADCAST = "broadcast"
    """All lanes access one element."""

    CONTIGUOUS = "contiguous"
    """The next lane accesses the next element."""

    REVERSED = "reversed"
    """The next lane accesses the previous element; the address is that of the last lane."""


@dataclass(frozen=True)
class Offsets:
    """Each lane accesses the element at a literal distance from the address.

    Attributes:
        distances: of each lane, in elements; the least one is 0.
    """

    distances: tuple[int, ...]

    @property
    def stride(self) -> int | None:
        """The distance between consecutive lanes; None if it varies."""
        steps = {b - a for a, b in zip(self.distances, self.distances[1:], strict=False)}
        return steps.pop() if len(steps) == 1 else None


@dataclass(frozen=True)
class Window(Offsets):
    """Offsets so small that a few whole vectors hold all elements; shuffles move them to lanes."""


@dataclass(frozen=True)
class Gather:
    """Each lane computes the subscripts of its element."""

    subscripts: tuple[Value, ...]


Movement: TypeAlias = Uniform | Offsets | Gather


class Unit(Enum):
    """What an address counts."""

    ELEMENT = "element"
    BYTE = "byte"
    BIT = "bit"


@dataclass(frozen=True)
class Address:
    """The place of an element: ``constant + sum of coefficient * value`` from the array's start.

    Attributes:
        array: the array.
        terms: pairs (value, coefficient), the coefficient in units.
        constant: literal displacement in units.
        scaled: pairs (dimension, index) of the dimensions whose stride is known at run time only.
        is_data_dependent: whether a term reads an array element.
        unit: bytes or bits for packed arrays: bytes if every address of the access begins at the
            same bit of its byte.
        phase: this bit; 0 for other units.
    """

    array: str
    terms: tuple[tuple[Value, int], ...]
    constant: int
    scaled: tuple[tuple[int, Value], ...] = ()
    is_data_dependent: bool = False
    unit: Unit = Unit.ELEMENT
    phase: int = 0


@dataclass(frozen=True)
class Access:
    """One element for each lane.

    Attributes:
        address: of the first lane's element; of the least one for a reversed access and offsets.
        movement: from lane to lane.
        alignment: known alignment of the address in bytes.
        is_private: whether the elements of all lanes, active or not, lie inside an array on the
            stack of the function: no other thread can see them.
    """

    address: Address
    movement: Movement
    alignment: int
    is_private: bool = False


# -- lanes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class All:
    """Every lane is active."""


@dataclass(frozen=True)
class Only:
    """These lanes are active, at least one and not all."""

    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Range:
    """The lanes from ``lower`` (None: from the first) to ``upper``, excluded, by ``step``."""

    lower: Value | None
    upper: Value
    step: int


@dataclass(frozen=True)
class Predicate:
    """The lanes of ``within`` for which a condition holds."""

    condition: Value
    within: All | Only | Range


Active: TypeAlias = All | Only | Range | Predicate


@dataclass(frozen=True)
class Lanes:
    """The lanes of a vector statement.

    Attributes:
        count: the number of lanes.
        active: those that run.
        some: whether at least one lane surely runs.
    """

    count: int
    active: Active
    some: bool = True


# -- values ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lane:
    """The number of each lane (i64)."""


@dataclass(frozen=True)
class Sum:
    """``constant + sum of coefficient * value`` (i64)."""

    terms: tuple[tuple[Value, int], ...]
    constant: int = 0


@dataclass(frozen=True)
class Apply:
    """An operation on scalars or on all lanes.

    Attributes:
        operator: the operation.
        operands: its operands.
        dtype: the element type of the result.
        contract: whether a product and a sum may be rounded once.
    """

    operator: Operator
    operands: tuple[Value, ...]
    dtype: DType | None
    contract: bool


@dataclass(frozen=True)
class Convert:
    """The operand as another element type."""

    operand: Value
    dtype: DType


@dataclass(frozen=True)
class Load:
    """Elements of an array whose elements take whole bytes; a scalar if all lanes read one."""

    access: Access
    dtype: DType


@dataclass(frozen=True)
class Unpack:
    """Elements of a packed array, sign- or zero-extended to the bits of ``dtype``."""

    access: Access
    dtype: DType


@dataclass(frozen=True)
class Register:
    """The content of a register array.

    Attributes:
        array: its name.
        number: of the vector, if it is a tile of several.
        dtype: of the elements.
        is_vector: whether it holds one element for each lane.
    """

    array: str
    number: int
    dtype: DType
    is_vector: bool


@dataclass(frozen=True)
class First:
    """A vector with a scalar in its first lane; the other lanes are undefined."""

    element: Value


@dataclass(frozen=True)
class Shuffle:
    """A vector of lanes of two vectors, numbered through both."""

    first: Value
    second: Value
    lanes: tuple[int, ...]


Value: TypeAlias = (
    Constant
    | Index
    | Parameter
    | Lane
    | Sum
    | Apply
    | Convert
    | Load
    | Unpack
    | Register
    | First
    | Shuffle
)

# -- statements --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Store:
    """Write to memory."""

    access: Access


@dataclass(frozen=True)
class Stream:
    """Write whole vectors to memory past the caches."""

    access: Access


@dataclass(frozen=True)
class Keep:
    """Write a register array.

    Attributes:
        register: the register array and the vector in it.
        masked: whether inactive lanes keep their content; otherwise it is undefined afterward.
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
class DotProduct:
    """Add ``terms`` products to each lane of 32-bit integers.

    Attributes:
        statement: the statement's name.
        target: the sums.
        sums: the sums before.
        factors: one or two accesses with the types of their elements. A lane reads ``terms``
            consecutive elements; the elements of the next lane follow, or are the same. With one
            factor its elements are added up.
        terms: of each lane.
        lanes: of the sums.
    """

    statement: str
    target: Target
    sums: Value
    factors: tuple[Load, ...]
    terms: int
    lanes: Lanes


class Interleaving(Enum):
    """The relation of vectors in memory order to the vectors of every n-th element."""

    SPLIT = "split"
    """Element ``count * lane + number`` of ``count`` vectors moves to a lane of vector ``number``."""

    JOIN = "join"
    """The inverse of SPLIT."""


@dataclass(frozen=True)
class Transpose:
    """Move elements between two register tiles, which are register arrays of several vectors.

    Attributes:
        rows: the tile that is read.
        columns: the tile that is written.
        strategy: the instructions that transpose a tile.
        interleaving: which elements move where; None: ``columns[i][j] = rows[j][i]``.
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


Statement: TypeAlias = Assign | DotProduct | Transpose | Prefetch

# -- control flow ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """The arrays of a function.

    Attributes:
        outside: arrays whose address the function is given.
        stack: arrays on its stack.
        heap: arrays in memory that is allocated for the whole call, or for each thread.
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
        runs: whether at least one iteration surely runs.
        region: the frame of the function of a parallel loop whose iterations threads share;
            None for all other loops.
    """

    variable: str
    name: str
    lower: Value
    upper: Value
    step: int
    runs: bool
    body: Node
    region: Frame | None = None


@dataclass(frozen=True)
class Branch:
    """Run ``then`` if the condition holds, else ``otherwise``."""

    condition: Value
    then: Node
    otherwise: Node | None = None


@dataclass(frozen=True)
class Sequence:
    """Run nodes in order."""

    nodes: tuple[Node, ...]


Node: TypeAlias = Sequence | Loop | Branch | Statement


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
    """A whole program.

    Attributes:
        name: of the kernel.
        parameters: in order.
        context: of the kernel: what holds of its parameters.
        arrays: by name, register arrays included.
        layouts: of the arrays that need memory.
        frame: of the kernel's function.
        body: its statements.
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
        case Loop(body=body):
            return (body,)
        case Branch(then=then, otherwise=otherwise):
            return (then,) if otherwise is None else (then, otherwise)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """All nodes, an outer before an inner one."""
    open_nodes = [node]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        open_nodes.extend(reversed(children(node)))
