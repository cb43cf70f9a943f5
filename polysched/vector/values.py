"""Values of the vector IR (:mod:`polysched.vector.ir`): accesses, lanes, computation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.expressions import Constant, Index, Parameter
from polysched.ir.expr.operators import Operator

# -- memory accesses ---------------------------------------------------------------------------


class Uniform(Enum):
    """Movements from lane to lane without parameters."""

    BROADCAST = "broadcast"
    """All lanes access the same element."""

    CONTIGUOUS = "contiguous"
    """The next lane accesses the next element."""

    REVERSED = "reversed"
    """The next lane accesses the previous element; the address belongs to the last lane."""


@dataclass(frozen=True)
class Offsets:
    """Each lane accesses the element at a literal distance from the address.

    Attributes:
        distances: the distance of each lane, in elements; the least distance is 0.
    """

    distances: tuple[int, ...]

    @property
    def stride(self) -> int | None:
        """The distance between consecutive lanes; None if it varies."""
        steps = {b - a for a, b in zip(self.distances, self.distances[1:], strict=False)}
        return steps.pop() if len(steps) == 1 else None


@dataclass(frozen=True)
class Window(Offsets):
    """Small offsets: a few whole vectors hold all elements, and shuffles move them to lanes.

    Attributes:
        reach: for each lane, the greatest distance that the lane provably reads, in this access or
            in another access of the same lanes; None for ``distances``.
    """

    reach: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RuntimeStride:
    """Each lane accesses the element at a distance from that of the lane before, known at run time.

    Attributes:
        steps: pairs (dimension, factor): the distance contains the dimension's stride so often.
        literal: the elements that the distance contains beside them.
    """

    steps: tuple[tuple[int, int], ...]
    literal: int


@dataclass(frozen=True)
class Gather:
    """Each lane computes the subscripts of its element."""

    subscripts: tuple[Value, ...]


@dataclass(frozen=True)
class Lookup(Gather):
    """A gather from a table of 256 elements, which registers hold, numbered by a byte."""


Movement: TypeAlias = Uniform | Offsets | RuntimeStride | Gather


class Unit(Enum):
    """The unit of an address."""

    ELEMENT = "element"
    BYTE = "byte"
    BIT = "bit"


@dataclass(frozen=True)
class Address:
    """The address of an element: ``constant + sum of coefficient * value`` from the array's start.

    Attributes:
        terms: pairs (value, coefficient), with the coefficient in units.
        constant: literal displacement in units.
        scaled: pairs (dimension, index) of the dimensions whose stride is known only at run time.
        is_data_dependent: whether a term reads an array element.
        unit: elements, or for packed arrays bytes or bits: bytes if every address of the access
            begins at the same bit of its byte.
        phase: the bit of a byte at which the address begins; 0 for other units.
        is_optional: whether there may be no element: the distance is below `FARTHEST` then.
    """

    array: str
    terms: tuple[tuple[Value, int], ...]
    constant: int
    scaled: tuple[tuple[int, Value], ...] = ()
    is_data_dependent: bool = False
    unit: Unit = Unit.ELEMENT
    phase: int = 0
    is_optional: bool = False


@dataclass(frozen=True)
class Access:
    """A memory access to one element for each lane.

    Attributes:
        address: the address of the first lane's element; for a reversed access and for offsets, the
            lowest address.
        alignment: the known alignment of the address in bytes.
        is_private: whether the elements of all lanes, active or not, lie inside an array on the
            stack of the function: no other thread can see them.
        is_whole: whether the elements of all lanes lie inside a temporary if that of one lane does.
    """

    address: Address
    movement: Movement
    alignment: int
    is_private: bool = False
    is_whole: bool = False


# -- lanes -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class All:
    """Every lane is active."""


@dataclass(frozen=True)
class Only:
    """The given lanes are active: at least one lane, but not all."""

    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Range:
    """The lanes ``range(lower, upper, step)`` are active; ``lower`` is 0 if None."""

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
        some: whether at least one lane provably runs.
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
        contract: whether a product and a sum may be contracted to an FMA.
        reassociates: whether LLVM may combine the operations of several iterations in any order.
    """

    operator: Operator
    operands: tuple[Value, ...]
    dtype: DType | None
    contract: bool
    reassociates: bool = False


@dataclass(frozen=True)
class Convert:
    """Convert the operand to another element type."""

    operand: Value
    dtype: DType


@dataclass(frozen=True)
class Load:
    """Load elements of an unpacked array; a scalar if all lanes read the same element.

    Attributes:
        where: the condition under which a lane loads its element; other lanes have any value.
    """

    access: Access
    dtype: DType
    where: Value | None = None


@dataclass(frozen=True)
class Unpack:
    """Load elements of a packed array, sign- or zero-extended to the bits of ``dtype``."""

    access: Access
    dtype: DType


@dataclass(frozen=True)
class Register:
    """The content of a register array.

    Attributes:
        number: the number of the vector, if the register array is a tile of several vectors.
        is_vector: whether the register holds one element for each lane.
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
    """Select lanes of two vectors; lane numbers count through both vectors."""

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


def dtype_of(value: Value) -> DType:
    """The element type of a value."""
    match value:
        case Constant(value=number, type=dtype):
            return dtype or (boolean if isinstance(number, bool) else i64)
        case Apply(operands=operands, dtype=dtype):
            return dtype or dtype_of(operands[-1])
        case First(element=inner) | Shuffle(first=inner):
            return dtype_of(inner)
        case Convert(dtype=dtype) | Load(dtype=dtype) | Unpack(dtype=dtype) | Register(dtype=dtype):
            return dtype
    return i64
