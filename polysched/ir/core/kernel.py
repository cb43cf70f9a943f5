"""Kernels, arrays, accesses, statements and reductions: the declared program as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

import islpy as isl

from polysched.html import preformatted, titled
from polysched.ir.core.data_dependent import is_data_dependent, may_relation
from polysched.ir.core.fingerprint import are_equal, fingerprint, value_hash
from polysched.ir.core.packing import Rows
from polysched.ir.core.tree import Node
from polysched.ir.expr.affine import instance_space, literal, to_pw_aff
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.source import SourceLocation
from polysched.ir.expr.traversal import loads


class Role(Enum):
    """How the caller and the kernel use an array."""

    INPUT = "input"
    OUTPUT = "output"
    INOUT = "inout"
    TEMPORARY = "temporary"


@dataclass(frozen=True)
class Array:
    """An array: element type, named dimensions, extents and layout.

    ``shape`` holds one affine expression over the parameters for each dimension. The first ``tile``
    dimensions of a buffer only identify the tile: they number the iterations of the loops around
    the buffer, have no extent (a literal 0 in ``shape``) and take no memory.

    ``values`` is the range (lower, exclusive upper end) of the elements of an index array: an input
    of integers whose elements are allowed in subscripts. Every call checks it.

    ``rows`` is the layout of a packed argument (:mod:`polysched.ir.core.packing`); None if elements
    take whole bytes.

    ``strides`` holds the distance, in elements, between consecutive indices of each dimension,
    affine in the parameters (:mod:`polysched.ir.core.strides`); None for contiguous row-major
    order.

    ``streamed``: full vectors are written with non-temporal stores, which bypass the caches.

    ``guarded``: the extents are upper bounds. Only elements that the kernel accesses whatever the
    data, and those whose conditions hold, are known to exist (:mod:`polysched.ir.core.guards`).
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
    guarded: bool = False

    def __str__(self) -> str:
        extents = ", ".join(map(str, self.shape))
        return f"{self.role.value} {self.name}: {self.dtype}[{extents}]"

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes."""
        return self.rows is not None

    @property
    def is_written(self) -> bool:
        """Whether the array is a result: the caller sees the kernel's writes."""
        return self.role in (Role.OUTPUT, Role.INOUT)

    @property
    def stored_shape(self) -> tuple[Expression, ...]:
        """The extents of the dimensions that take memory."""
        return self.shape[self.tile :]

    @property
    def lane_dimension(self) -> int:
        """The dimension with stride 1, counted from the end (-1 is the last dimension).

        If no dimension has stride 1, the last dimension. Without strides, the last dimension with
        more than one element.
        """
        if self.strides is not None or self.is_packed:
            strides = self.strides or ()
            return strides.index(Constant(1)) - len(strides) if Constant(1) in strides else -1
        extents = self.stored_shape
        longer = (-at for at in range(1, len(extents) + 1) if extents[-at] != Constant(1))
        return next(longer, -1)


@dataclass(frozen=True)
class Access:
    """A subscripted array: one write or read of a statement."""

    array: str
    subscripts: tuple[Expression, ...]
    location: SourceLocation | None = field(default=None, compare=False)

    @property
    def is_data_dependent(self) -> bool:
        """Whether a subscript reads an array element, so that the access has a may relation.

        An instance then accesses one unknown element of those it is related to. Therefore a
        data-dependent write does not prove that any given element is written.
        """
        return is_data_dependent(self.subscripts)

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.subscripts))}]"


class Order(Enum):
    """Order policy of a reduction: keep the program's order, or allow reassociation."""

    EXACT = "exact"
    ANY = "any"


@dataclass(frozen=True)
class Reduction:
    """The statement is ``target = target operator contribution``, with an order policy.

    ``read`` is the position of the read of ``target`` in the statement's accesses.
    """

    operator: Operator
    order: Order
    read: int


@dataclass(frozen=True, eq=False)
class Statement:
    """A statement: each instance in ``domain`` computes ``target = value``."""

    name: str
    indices: tuple[str, ...]
    domain: isl.Set
    target: Access
    value: Expression
    reduction: Reduction | None = None
    location: SourceLocation | None = None

    @cached_property
    def reads(self) -> tuple[Access, ...]:
        """The read accesses of the value in evaluation order, then of the target's subscripts."""
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
    """A declared kernel: its statements, arrays and parameters, and the program order.

    ``fp_contract``: floating-point ``a * b + c`` may be contracted to an FMA, which rounds once. If
    False, each operation rounds separately, as with a C compiler's ``-ffp-contract=off``. Then the
    code also calls the C library's math functions (except ``exp``) instead of inline vector code.
    """

    name: str
    parameters: tuple[str, ...]
    context: isl.Set
    arrays: Mapping[str, Array]
    statements: Mapping[str, Statement]
    body: Node
    location: SourceLocation | None = None
    fp_contract: bool = True

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the declaration, without source lines."""
        return fingerprint(*self._value)

    @cached_property
    def _hash(self) -> int:
        return hash(value_hash(*self._value))

    @property
    def _value(self) -> tuple[object, ...]:
        """The fields that equal kernels share."""
        parts = (self.name, self.parameters, self.context, self.arrays, self.statements)
        return (*parts, self.body, self.fp_contract)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Kernel):
            return NotImplemented
        return self is other or (self._hash == other._hash and are_equal(self._value, other._value))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the declaration without the additions of a frontend, such as its function."""
        whole = Kernel(
            self.name,
            self.parameters,
            self.context,
            dict(self.arrays),  # Python does not pickle a mappingproxy
            dict(self.statements),
            self.body,
            self.location,
            self.fp_contract,
        )
        return _unpickled, (vars(whole),)

    if not TYPE_CHECKING:  # type checkers report the call themselves

        def __call__(self, *_arguments: object, **_named: object) -> NoReturn:
            """Tell how to get a function to call."""
            raise TypeError(
                "a kernel cannot be called; ps.compile(kernel) returns the function to call, and "
                "ps.optimize(kernel).compile() a fast one"
            )

    def __repr__(self) -> str:
        """Only the names; ``polysched show --stage domain`` prints the whole kernel."""
        arrays = (a.name for a in self.arrays.values() if a.role is not Role.TEMPORARY)
        arguments = ", ".join((*arrays, *self.parameters))
        return f"<Kernel {self.name}({arguments}): {', '.join(self.statements)}>"

    def _repr_html_(self) -> str:
        lines = [str(array) for array in self.arrays.values()]
        lines += map(str, self.statements.values())
        return titled(f"kernel {self.name}", preformatted("\n".join(lines)))


def _unpickled(fields: dict[str, Any]) -> Kernel:
    kernel = object.__new__(Kernel)
    vars(kernel).update(fields)
    return kernel


def access_relation(statement: Statement, access: Access) -> isl.Map:
    """Compute the access relation ``{ statement[i] -> array[e] : i in domain }``.

    For a data-dependent access the result is the may relation to all elements it may access.
    """
    for position, own in enumerate(statement.accesses):
        if own is access:
            return _own_relation(statement, position)
    return _relation(statement, access)


@lru_cache(maxsize=512)
def _own_relation(statement: Statement, position: int) -> isl.Map:
    # Cached because steps and checks ask for the same relations repeatedly.
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
