"""Signatures of calls: the types, ranks and kinds of size that a function is compiled for.

Sizes are parameters of the kernel, except small ones beside large arrays: the 3 of an array of
shape (100000, 3), or the width of a filter. Such a size is a literal of the kernel, so that its
loops can be unrolled. Code for calls with small arrays only has no literals.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.scope.specialized import static_value
from polysched.frontends.python.source.annotations import (
    Argument,
    ArrayArgument,
    SizeArgument,
    require_real,
)
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.source.records import Record
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, f64
from polysched.ir.expr.expressions import Constant, Expression, Parameter

LARGEST_LITERAL = 16
"""The greatest extent or integer argument that becomes a literal of the kernel."""

FEW = 64
"""Sizes up to this number and larger ones are different kinds of arguments: a schedule that suits
a loop of 20 iterations does not suit a loop of 2000. If all arrays are small, the limit is
`LARGEST_LITERAL`: such calls may be trials of a function that is meant for large arrays."""

MANY_ELEMENTS = 2**17
"""Calls with an array of more elements are another kind again: the data exceed the second-level
cache. A product of two matrices of 1024 rows took 13 times as long by the schedule for 100 rows."""


@dataclass(frozen=True)
class ArrayType:
    """The type of an array argument.

    Attributes:
        extents: for each dimension the name of its size, or a literal. Dimensions with equal
            extents share a size.
        axes: the dimensions in the order in which they lie in memory; None for row-major order.
    """

    name: str
    dtype: DType
    extents: tuple[str | int, ...]
    axes: tuple[int, ...] | None

    def __str__(self) -> str:
        order = "" if self.axes is None else f" in the order {self.axes}"
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.extents))}]{order}"


@dataclass(frozen=True)
class NumberType:
    """The type of a number argument: a numpy scalar, or a Python number.

    Attributes:
        literal: the value of an integer that is a literal of the kernel.
    """

    name: str
    dtype: DType
    is_python: bool
    is_size: bool = False
    literal: int | None = None

    def __str__(self) -> str:
        if self.literal is not None:
            return f"{self.name} = {self.literal}"
        if not self.is_python:
            return f"{self.name}: {self.dtype}"
        kind = "int" if self.is_size else "bool" if self.dtype == boolean else "float"
        return f"{self.name}: {kind}"


@dataclass(frozen=True)
class StaticType:
    """An argument that is part of the code: ``None``, a truth value, text, a tuple, or a record.

    Attributes:
        value: the argument; its type tells 1, 1.0 and True apart.
    """

    name: str
    value: Hashable
    kind: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r}"


@dataclass(frozen=True)
class SharedType:
    """An array argument that is the same array as an earlier one, which the function writes.

    Attributes:
        other: the name of the earlier argument.
    """

    name: str
    other: str

    def __str__(self) -> str:
        return f"{self.name} = {self.other}"


@dataclass(frozen=True)
class CallTypes:
    """The types of all arguments of a call.

    Attributes:
        few: the sizes up to `most`.
        most: the greatest of these sizes that the kind has.
        is_beyond: whether an array has more than `MANY_ELEMENTS` elements.
    """

    arguments: tuple[ArrayType | NumberType | StaticType | SharedType, ...]
    few: tuple[str, ...] = ()
    most: int = FEW
    is_beyond: bool = False

    @property
    def static(self) -> Mapping[str, Any]:
        """The arguments that are part of the code."""
        return {
            argument.name: argument.value
            for argument in self.arguments
            if isinstance(argument, StaticType)
        }

    @property
    def shared(self) -> Mapping[str, str]:
        """The arguments that are the same array as another one, with the other's name."""
        return {
            argument.name: argument.other
            for argument in self.arguments
            if isinstance(argument, SharedType)
        }

    @property
    def arrays(self) -> tuple[ArrayType, ...]:
        """The array arguments."""
        return tuple(argument for argument in self.arguments if isinstance(argument, ArrayType))

    def __str__(self) -> str:
        few = f" for {', '.join(self.few)} <= {self.most}" if self.few else ""
        many = f" with more than {MANY_ELEMENTS} elements" if self.is_beyond else ""
        return f"({', '.join(map(str, self.arguments))}){few}{many}"


@dataclass
class _Sizes:
    """The names of the sizes of one call, by extent."""

    taken: frozenset[str]
    largest_literal: int
    is_exact: bool
    names: dict[int, str] = field(default_factory=dict)

    def name(self, extent: int, wanted: str) -> str | int:
        """The name of an extent's size, or the literal itself; 1 broadcasts, so it is one."""
        if self.is_exact or 1 <= extent <= self.largest_literal:
            return extent
        while wanted in self.taken:
            wanted += "_"
        return self.names.setdefault(extent, wanted)


def names_in(source: FunctionSource) -> frozenset[str]:
    """The names in a function, which its sizes must not have."""
    nodes = list(ast.walk(source.node))
    return frozenset(
        node.id if isinstance(node, ast.Name) else node.arg
        for node in nodes
        if isinstance(node, ast.Name | ast.arg)
    )


def call_types(
    source: FunctionSource,
    taken: frozenset[str],
    values: Mapping[str, Any],
    *,
    shared: Mapping[str, str] | None = None,
    literals: bool = True,
    numbers: bool = False,
    exact: bool = False,
) -> CallTypes:
    """The types of a call's arguments.

    Args:
        taken: its names: see `names_in`.
        shared: the arguments that are the same array as another one: see `shared_arguments`.
        literals: whether small sizes beside large arrays are literals.
        numbers: whether integer arguments up to `FEW` are literals, beside arrays of any size.
        exact: whether all sizes and integer arguments are literals.
    """
    is_large = any(
        isinstance(value, np.ndarray) and max(value.shape, default=0) > LARGEST_LITERAL
        for value in values.values()
    )
    sizes = _Sizes(taken, LARGEST_LITERAL if literals and is_large else 1, exact)
    types: list[ArrayType | NumberType | StaticType | SharedType] = []
    for name, value in values.items():
        if shared and name in shared:
            types.append(SharedType(name, shared[name]))
            continue
        try:
            types.append(_type(name, value, sizes, numbers=numbers))
        except KernelError as error:
            arguments = ast.walk(source.node.args)
            named = (
                argument
                for argument in arguments
                if isinstance(argument, ast.arg) and argument.arg == name
            )
            node = next(named, source.node)  # a value of a record is no argument
            raise source.error(node, f"argument '{name}': {error}") from None
    integers = {
        argument.name: values[argument.name]
        for argument in types
        if isinstance(argument, NumberType) and argument.is_size and argument.literal is None
    }
    extents = {name: extent for extent, name in sizes.names.items()} | integers
    most = FEW if is_large else LARGEST_LITERAL
    few = tuple(name for name, size in extents.items() if size <= most)
    arrays = (value for value in values.values() if isinstance(value, np.ndarray))
    is_beyond = any(value.size > MANY_ELEMENTS for value in arrays)
    return CallTypes(tuple(types), few, most, is_beyond)


def shared_arguments(values: Mapping[str, Any], written: Iterable[str]) -> dict[str, str]:
    """The arguments that are the same array as an earlier one, if the function writes the array.

    Args:
        written: the names of the arguments that the function writes.
    """
    groups: dict[Hashable, list[str]] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.size and value.ndim:
            where = value.__array_interface__["data"][0], value.strides
            groups.setdefault((where, value.shape, value.dtype), []).append(name)
    known = frozenset(written)
    return {
        name: first for first, *rest in groups.values() if known & {first, *rest} for name in rest
    }


def _type(
    name: str, value: Any, sizes: _Sizes, *, numbers: bool
) -> ArrayType | NumberType | StaticType:
    if not isinstance(value, np.generic) and static_value(value) is not None:
        return StaticType(name, value, str(value) if isinstance(value, Record) else repr(value))
    if isinstance(value, np.generic):
        require_real(value.dtype)
        return NumberType(name, as_dtype(value.dtype), is_python=False)
    if isinstance(value, int):
        is_literal = (
            sizes.is_exact
            or 1 < abs(value) <= sizes.largest_literal
            or (numbers and abs(value) <= FEW)
        )
        literal = value if is_literal else None
        return NumberType(name, as_dtype("i64"), is_python=True, is_size=True, literal=literal)
    if isinstance(value, float):
        return NumberType(name, f64, is_python=True)
    if isinstance(value, complex):
        require_real(np.dtype(complex))
    if not isinstance(value, np.ndarray):
        raise KernelError(
            f"this is of type {type(value).__name__}; expected a numpy array or a number, "
            f"such as np.asarray({name})"
        )
    require_real(value.dtype)
    dtype = as_dtype(value.dtype)
    if not value.ndim:
        return NumberType(name, dtype, is_python=False)
    extents = tuple(
        sizes.name(extent, f"{name}_n{axis}") for axis, extent in enumerate(value.shape)
    )
    return ArrayType(name, dtype, extents, _axes(value))


def _axes(array: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The order of dimensions in which an array is contiguous; None if row-major or copied."""
    if array.flags.c_contiguous:
        return None
    axes = tuple(sorted(range(array.ndim), key=lambda axis: -array.strides[axis]))
    return axes if array.transpose(axes).flags.c_contiguous else None


def arguments_for(source: FunctionSource, types: CallTypes) -> tuple[Argument, ...]:
    """The arguments of the function for a kind of call."""
    signature = source.node.args
    nodes = {
        node.arg: node for node in (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
    }
    for name, value in types.static.items():
        if isinstance(value, Record):
            nodes |= dict.fromkeys(value.names, nodes[name])
    return tuple(
        _argument(nodes[argument.name], argument)
        for argument in types.arguments
        if not isinstance(argument, StaticType | SharedType)
    )


def _argument(node: ast.arg, given: ArrayType | NumberType) -> Argument:
    if isinstance(given, NumberType):
        if given.is_size:
            return SizeArgument(given.name, node, given.literal)
        return ArrayArgument(given.name, given.dtype, (), node, is_weak=given.is_python)
    shape: tuple[Expression, ...] = tuple(
        Constant(extent) if isinstance(extent, int) else Parameter(extent)
        for extent in given.extents
    )
    return ArrayArgument(given.name, given.dtype, shape, node, axes=given.axes)


def sizes_of(
    kernel: Kernel, arguments: tuple[Argument, ...], values: Mapping[str, Any]
) -> dict[str, int]:
    """The values of a kernel's parameters at a call."""
    sizes: dict[str, int] = {}
    for argument in arguments:
        value = values[argument.name]
        if isinstance(argument, SizeArgument):
            sizes[argument.name] = value
            continue
        for extent, size in zip(argument.shape, np.shape(value), strict=True):
            if isinstance(extent, Parameter):
                sizes[extent.name] = size
    return {name: sizes[name] for name in kernel.parameters}
