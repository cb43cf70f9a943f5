"""Kernels: parameters with a context, arrays, and statements in program order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache

import islpy as isl

from polysched.ir.affine import instance_space, literal, to_pw_aff
from polysched.ir.data_dependent import is_data_dependent, may_relation
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Constant, Expression
from polysched.ir.operators import Operator
from polysched.ir.packing import Rows
from polysched.ir.source import SourceLocation
from polysched.ir.traversal import loads
from polysched.ir.tree import Node


class Role(Enum):
    """What an array is to the caller."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"
    TEMPORARY = "temporary"


@dataclass(frozen=True)
class Array:
    """An array: element type, named dimensions and their extents.

    ``shape`` holds one affine expression over the parameters for each dimension. The first ``tile``
    dimensions of a buffer only say *which* tile's copy is meant: they number the iterations of the
    loops around the buffer, have no extent (a literal 0 stands for it) and take no memory.

    ``values`` is the range, its upper end excluded, of the values of an index array: an input of
    integers whose elements may stand in subscripts. Every call checks it.

    ``rows`` says how the elements of a packed argument lie (:mod:`polysched.ir.packing`); None of
    arrays whose elements take whole bytes.

    ``strides`` holds the distance, in elements, from one index of each dimension to the next,
    affine in the parameters (:mod:`polysched.ir.strides`); None for row-major order without gaps.

    ``streamed``: whole vectors are written past the caches.
    """

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    role: Role
    dimensions: tuple[str, ...]
    tile: int = 0
    location: SourceLocation | None = field(default=None, compare=False)
    values: tuple[Expression, Expression] | None = None
    rows: Rows | None = None
    strides: tuple[Expression, ...] | None = None
    streamed: bool = False

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes."""
        return self.rows is not None

    @property
    def is_written(self) -> bool:
        """Whether the caller sees what the kernel writes into the array."""
        return self.role in (Role.OUTPUT, Role.INOUT)

    @property
    def stored_shape(self) -> tuple[Expression, ...]:
        """The extents that take memory."""
        return self.shape[self.tile :]

    @property
    def lane_dimension(self) -> int:
        """The dimension along which elements are neighbors in memory, else the last one.

        Counted from the end: -1 is the last one.
        """
        strides = self.strides or ()
        return strides.index(Constant(1)) - len(strides) if Constant(1) in strides else -1


@dataclass(frozen=True)
class Access:
    """A subscripted array: one write or read of a statement."""

    array: str
    subscripts: tuple[Expression, ...]
    location: SourceLocation | None = field(default=None, compare=False)

    @property
    def is_data_dependent(self) -> bool:
        """Whether an array element stands in a subscript, so that its relation is a may relation.

        An instance then touches *one* of the elements that it is related to, and no one knows
        which: such a write is no proof that any of them has been written.
        """
        return is_data_dependent(self.subscripts)

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.subscripts))}]"


class Order(Enum):
    """In which order the instances of a reduction may combine."""

    EXACT = "exact"
    ANY = "any"


@dataclass(frozen=True)
class Reduction:
    """The statement is ``target = target operator contribution``, with an order policy.

    ``read`` is the position of the target's own value among the statement's reads.
    """

    operator: Operator
    order: Order
    read: int


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement: for every instance of ``domain``, ``target = value``."""

    name: str
    indices: tuple[str, ...]
    domain: isl.Set
    target: Access
    value: Expression
    reduction: Reduction | None = None
    location: SourceLocation | None = None

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """The read accesses: of the value in evaluation order, then of the target's subscripts."""
        return tuple(
            Access(load.array, load.subscripts, load.location)
            for expression in (self.value, *self.target.subscripts)
            for load in loads(expression)
        )

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """The write access first, then the reads."""
        return (self.target, *self.reads)

    def __str__(self) -> str:
        return f"{self.name}: {self.target} = {self.value}"


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel as declared: what is computed, and the order in which the program says it.

    ``fp_contract`` says whether ``a * b + c`` of floating-point numbers may round once; else
    machine code rounds each operation by itself, as a C compiler does with ``-ffp-contract=off``,
    and calls the C library's functions, but for ``exp``, where it would compute whole vectors.
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    arrays: Mapping[str, Array]
    statements: Mapping[str, Statement]
    body: Node
    location: SourceLocation | None = None
    fp_contract: bool = True

    def __repr__(self) -> str:
        """The names; ``polysched show --stage domain`` prints all there is."""
        arrays = (a.name for a in self.arrays.values() if a.role is not Role.TEMPORARY)
        taken = ", ".join((*arrays, *self.parameters))
        return f"<Kernel {self.name}({taken}): {', '.join(self.statements)}>"


def access_relation(statement: Statement, access: Access) -> isl.Map:
    """The relation ``{ statement[i] -> array[e] : i in domain }`` of one access.

    Of a data-dependent access it is the may relation: every element that the access may touch.
    """
    for position, own in enumerate(statement.accesses):
        if own is access:
            return _own_relation(statement, position)
    return _relation(statement, access)


@lru_cache(maxsize=512)
def _own_relation(statement: Statement, position: int) -> isl.Map:
    """The steps and the checks ask for the same ones again and again."""
    return _relation(statement, statement.accesses[position])


def _relation(statement: Statement, access: Access) -> isl.Map:
    if access.is_data_dependent:
        relation = may_relation(statement.domain, access.subscripts)
        return relation.set_tuple_name(isl.dim_type.out, access.array)
    space = statement.domain.get_space()
    result = isl.Map.from_domain(statement.domain)
    for position, subscript in enumerate(access.subscripts):
        column = isl.Map.from_pw_aff(to_pw_aff(subscript, space))
        result = result.flat_range_product(column) if position else column
    return result.intersect_domain(statement.domain).set_tuple_name(isl.dim_type.out, access.array)


@lru_cache(maxsize=128)
def extent_set(array: Array, parameters: tuple[str, ...]) -> isl.Set:
    """The elements of an array: ``[parameters] -> { array[d] : 0 <= d < shape }``."""
    space = instance_space(parameters, array.name, [f"_{i}" for i in range(len(array.shape))])
    result = isl.Set.universe(space)
    for position in range(array.tile, len(array.shape)):
        index = isl.PwAff.var_on_domain(space, isl.dim_type.set, position)
        zero = literal(space, 0)
        extent = to_pw_aff(array.shape[position], space)
        result = result.intersect(zero.le_set(index)).intersect(index.lt_set(extent))
    return result
