"""Bindings of the names of a function, and the types of its local numbers."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.scope.array_values import ArrayValue
from polysched.frontends.python.source.fresh_names import fresh_name
from polysched.frontends.python.values.value import Value, united
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.traversal import index_names


@dataclass(frozen=True)
class LocalNumber:
    """A local number that is kept in memory, as a zero-dimensional array.

    Attributes:
        is_weak: whether it is a Python number.
    """

    handle: ArrayHandle
    is_weak: bool


@dataclass(frozen=True)
class EndedBinding:
    """The binding of a name that has no single value anymore.

    Attributes:
        reason: why, for messages.
        is_number: whether it can be read if the number is kept in memory.
        array: the array that the name showed in a branch.
    """

    reason: str
    is_number: bool = True
    array: ArrayValue | None = None


@dataclass(frozen=True)
class PartialBinding:
    """A local number, after a branch over data that may not have given it its first value."""

    number: LocalNumber


Binding: TypeAlias = ArrayHandle | ArrayValue | LocalNumber | Value | EndedBinding | PartialBinding


@dataclass(frozen=True)
class NumberType:
    """The type of a local number, known from an earlier pass over the function."""

    dtype: DType
    is_weak: bool


class WrittenLearnedError(Exception):
    """A statement writes an argument that is declared as an input: read the function again."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class RangeLearnedError(Exception):
    """Elements of an argument are subscripts of a dimension: read the function again."""

    def __init__(self, name: str, extent: Expression) -> None:
        super().__init__(name)
        self.name = name
        self.extent = extent


@dataclass(frozen=True, eq=False)
class OuterArray:
    """An array outside of the function.

    Attributes:
        name: its name there.
        outer: the object, which tells arrays apart.
        numbers: its elements when the function is compiled.
    """

    name: str
    outer: object
    numbers: np.ndarray[Any, Any]


@dataclass(frozen=True)
class BranchArray:
    """The type of an array that several sides of a branch make, the same on every side, or of an
    element of a list comprehension."""

    dtype: DType
    shape: tuple[Expression, ...]


class BranchArrayLearnedError(Exception):
    """An array of a branch is read after it, or a list comprehension has such elements: read the
    function again, with memory before it."""

    def __init__(self, name: str, array: BranchArray) -> None:
        super().__init__(name)
        self.name = name
        self.array = array


class UndefinedLearnedError(Exception):
    """A branch over data stores in an array of ``np.empty``: read again, with zeros in the array.

    An element keeps its value where the branch is not taken, so it must have one.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class ComputedLearnedError(Exception):
    """A subscript is computed from data: read the function again, with a number that checks it."""


class OuterArrayLearnedError(Exception):
    """An expression reads an array outside: read the function again, with a local array for it."""

    def __init__(self, array: OuterArray) -> None:
        super().__init__(array.name)
        self.array = array


class TypeLearnedError(Exception):
    """A later assignment determines the type of a local number: read the function again."""

    def __init__(self, name: str, number_type: NumberType) -> None:
        super().__init__(name)
        self.name = name
        self.type = number_type


@dataclass
class Scope:
    """The names of a function at the point up to which it has been read.

    Attributes:
        types: the types, as far as known, of the local numbers that must be kept in memory.
        literals: the names to which a loop around assigns literals, and whose types were not known
            where it began.
        names: the binding of each name.
        arguments: the bindings that the array arguments have at first.
        contiguous: written arguments that numpy reshapes without a copy
            only if they are contiguous.
        guards: the data-dependent conditions of the enclosing branches.
        indices: the least and the greatest value of the index of every enclosing loop.
        alternatives: the other types that a local number in memory may have.
        results: the names that the function returns.
        taken: the names that new arrays, indices and variables must not have.
        arrays: the names of the kernel's arrays.
        owned: the arrays that the function has made, by the only name that they had at first.
        unnamed: the arrays of results that no variable names yet.
        kept: the arrays that a loop or branch around assigns a new value, in the same memory.
        inlined: a prefix of the names of the function that is being inlined.
        calls: the number of functions inlined so far.
        index_arrays: the arguments whose elements may be subscripts without a declared range; None
            if ranges are declared.
        branch_arrays: the arrays that get their memory before the branch that makes them.
        outer_arrays: the arrays outside of the function, with their local arrays.
        outside: the number that tells where a computed subscript was outside of its dimension; None
            if no subscript is computed.
        products: whether a subscript may be a product of sizes and indices.
        undefined: the arrays of ``np.empty`` without values.
        filled: the arrays of ``np.empty`` that start with zeros.
        listed: the arrays of list comprehensions whose elements' type and shape are not known.
        data_loops: the loops whose bounds are data, by their indices.
        conditional: the numbers that got their first value in a loop or branch that has ended.
        unset: those among them that are read, by their arrays.
    """

    types: Mapping[str, NumberType]
    names: dict[str, Binding] = field(default_factory=dict)
    arguments: dict[str, Binding] = field(default_factory=dict)
    contiguous: set[str] = field(default_factory=set)
    guards: list[Value] = field(default_factory=list)
    indices: Mapping[str, tuple[Expression, Expression]] = field(default_factory=dict)
    alternatives: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    results: frozenset[str] = frozenset()
    taken: set[str] = field(default_factory=set)
    arrays: set[str] = field(default_factory=set)
    owned: dict[str, object] = field(default_factory=dict)
    unnamed: Mapping[str, object] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    inlined: str = ""
    calls: int = 0
    index_arrays: frozenset[str] | None = None
    branch_arrays: Mapping[str, BranchArray] = field(default_factory=dict)
    outer_arrays: list[tuple[OuterArray, ArrayValue]] = field(default_factory=list)
    outside: ArrayHandle | None = None
    products: bool = False
    undefined: set[str] = field(default_factory=set)
    filled: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    listed: set[str] = field(default_factory=set)
    data_loops: dict[str, ast.expr] = field(default_factory=dict)
    conditional: set[str] = field(default_factory=set)
    unset: dict[str, str] = field(default_factory=dict)

    def read(self, name: str, number: LocalNumber) -> None:
        """Note the read of a number, which may have no value yet."""
        if name in self.conditional:
            self.unset[number.handle.array.name] = name.removeprefix(self.inlined)

    def is_constant(self, name: str) -> bool:
        """Whether an array of the kernel holds an array outside of the function."""
        return self._outside(name) is not None

    def is_sequence(self, name: str) -> bool:
        """Whether it holds a list or tuple, whose elements are Python numbers."""
        outer = self._outside(name)
        return outer is not None and isinstance(outer.outer, list | tuple)

    def _outside(self, name: str) -> OuterArray | None:
        for outer, made in self.outer_arrays:
            if made.base is not None and made.base.array.name == name:
                return outer
        return None

    @property
    def inputs(self) -> set[str]:
        """The arrays that the function only reads."""
        handles = [handle for handle in self.names.values() if isinstance(handle, ArrayHandle)]
        return {handle.array.name for handle in handles if handle.array.role is Role.INPUT}

    def fresh(self, hint: str) -> str:
        """A name for a new array: ``hint`` if it is a variable's name and no array has it yet."""
        name, number = hint, 1
        while name in self.arrays or (name in self.taken and name != hint):
            number += 1
            name = f"{hint}_{number}"
        self.arrays.add(name)
        return name

    def held(self, position: int, node: ast.stmt) -> str:
        """The name of the number that holds a value of an assignment to several targets."""
        name = f"{self.inlined}value_{node.lineno}_{position}"
        self.taken.add(name)
        return name

    def variable(self, hint: str) -> str:
        """A name that no variable of the function has."""
        name = fresh_name(hint, self.taken)
        self.taken.add(name)
        return name

    def index_name(self, hint: str, enclosing: Mapping[str, object]) -> str:
        """A name for a loop's index that no loop around and no variable has."""
        name, number = hint, 1
        while name in enclosing or name in self.taken or name in self.arrays:
            number += 1
            name = f"{hint}_{number}"
        return name


def require_type(value: Value, known: NumberType) -> None:
    """Check that a local number of a known type can hold a value without rounding it."""
    if (value.dtype == boolean) != (known.dtype == boolean) or not value.is_weak:
        if value.dtype != known.dtype:
            raise KernelError(
                f"this is {value.dtype} and is stored as {known.dtype}; convert it, as in "
                f"np.{known.dtype.numpy().name}(x)"
            )
    elif not known.is_weak:
        _, dtype, _ = united(Value(Constant(0, known.dtype)), value)
        if dtype != known.dtype:
            raise KernelError(
                f"this is {value.type_name}, and the number is {known.dtype} elsewhere; convert "
                f"it, as in np.{known.dtype.numpy().name}(x)"
            )


def merged(
    first: Mapping[str, tuple[Value, ...]], second: Mapping[str, tuple[Value, ...]]
) -> dict[str, tuple[Value, ...]]:
    """The types that numbers may have after a branch, from the types after each of its sides."""
    return {
        name: tuple(dict.fromkeys((*first.get(name, ()), *second.get(name, ()))))
        for name in {*first, *second}
    }


def array_of(binding: Binding | None) -> ArrayHandle | None:
    """The declared array of a name's binding."""
    if isinstance(binding, ArrayHandle):
        return binding
    return binding.base if isinstance(binding, ArrayValue) else None


def indices_of(binding: Binding | None) -> set[str]:
    """The loop indices from which a name's value is computed."""
    if not isinstance(binding, Value):
        return set()
    return {*index_names(binding.expression)}
