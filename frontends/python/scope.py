"""Bindings of the names of a function, and the types of its local numbers."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from polysched.errors import KernelError
from polysched.frontends.python.values import Value, united
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.traversal import walk


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
    """

    reason: str
    is_number: bool = True


@dataclass(frozen=True)
class PartialBinding:
    """A local number, after a branch over data that may not have given it its first value."""

    number: LocalNumber


Binding: TypeAlias = ArrayHandle | LocalNumber | Value | EndedBinding | PartialBinding


@dataclass(frozen=True)
class NumberType:
    """The type of a local number, known from an earlier pass over the function."""

    dtype: DType
    is_weak: bool


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
        names: the binding of each name.
        guards: the data-dependent conditions of the enclosing branches.
        indices: the least and the greatest value of the index of every enclosing loop.
        alternatives: the other types that a local number in memory may have.
    """

    types: Mapping[str, NumberType]
    names: dict[str, Binding] = field(default_factory=dict)
    guards: list[Value] = field(default_factory=list)
    indices: Mapping[str, tuple[Expression, Expression]] = field(default_factory=dict)
    alternatives: dict[str, tuple[Value, ...]] = field(default_factory=dict)


def require_type(value: Value, known: NumberType) -> None:
    """Check that a local number of a known type can hold a value without rounding it.

    Raises:
        KernelError: it cannot hold the value.
    """
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


def indices_of(binding: Binding | None) -> set[str]:
    """The loop indices from which a name's value is computed."""
    if not isinstance(binding, Value):
        return set()
    return {node.name for node in walk(binding.expression) if isinstance(node, Index)}


def assigned(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements assign to: variables, and arrays with assigned elements."""
    names: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base: ast.expr = node
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    names.add(base.id)
    return frozenset(names)


def literals_assigned(body: Iterable[ast.stmt]) -> list[tuple[str, float]]:
    """The assignments of literals to names: pairs of name and number."""
    assignments: list[tuple[str, float]] = []
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    value = ast.literal_eval(node.value)
                except (ValueError, TypeError, RecursionError):
                    continue
                if isinstance(value, bool | int | float):
                    assignments.append((node.targets[0].id, value))
    return assignments


def always_assigns(body: Iterable[ast.stmt], name: str) -> bool:
    """Whether statements assign to a variable on every path."""
    for node in body:
        match node:
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                if name in assigned([node]):
                    return True
            case ast.With(body=inner):
                if always_assigns(inner, name):
                    return True
            case ast.If(body=inner, orelse=other):
                if always_assigns(inner, name) and always_assigns(other, name):
                    return True
    return False
