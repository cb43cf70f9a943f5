"""What names mean at a place in a function, and of which types its local numbers are."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from polysched.errors import KernelError
from polysched.frontends.python.values import Value, united
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.dtypes import DType, boolean
from polysched.ir.expressions import Constant, Expression, Index
from polysched.ir.traversal import walk


@dataclass(frozen=True)
class LocalNumber:
    """A local number that is kept in memory: an array of no dimensions.

    Attributes:
        is_weak: whether it is a number of Python's own.
    """

    handle: ArrayHandle
    is_weak: bool


@dataclass(frozen=True)
class Gone:
    """A name that has no one meaning any more, and why.

    Attributes:
        is_number: whether it has a meaning once it is kept in memory.
    """

    reason: str
    is_number: bool = True


@dataclass(frozen=True)
class Partial:
    """A local number that a branch over data gives its first value, seen from outside of it."""

    number: LocalNumber


Meaning: TypeAlias = ArrayHandle | LocalNumber | Value | Gone | Partial


@dataclass(frozen=True)
class NumberType:
    """What is known of a local number before its first assignment is read."""

    dtype: DType
    is_weak: bool


class TypeLearnedError(Exception):
    """A later assignment tells the type of a local number: the function is to be read again."""

    def __init__(self, name: str, found: NumberType) -> None:
        super().__init__(name)
        self.name = name
        self.found = found


@dataclass
class Scope:
    """The names of a function, while it is read from top to bottom.

    Attributes:
        types: the types of the local numbers that must be kept in memory, as far as known.
        guards: the conditions, over data, of the branches that are open.
        indices: the least and the greatest value of the index of every open loop.
        alternatives: of local numbers that are kept in memory, the other types that they may have.
    """

    types: Mapping[str, NumberType]
    names: dict[str, Meaning] = field(default_factory=dict)
    guards: list[Value] = field(default_factory=list)
    indices: Mapping[str, tuple[Expression, Expression]] = field(default_factory=dict)
    alternatives: dict[str, tuple[Value, ...]] = field(default_factory=dict)


def require_type(value: Value, known: NumberType) -> None:
    """Check that a local number of a known type can hold a value as it is.

    Raises:
        KernelError: it cannot.
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
    """The types that numbers may have behind a branch, of those behind its sides."""
    return {
        name: tuple(dict.fromkeys((*first.get(name, ()), *second.get(name, ()))))
        for name in {*first, *second}
    }


def indices_of(meaning: Meaning | None) -> set[str]:
    """The loops whose indices a name's value is computed from."""
    if not isinstance(meaning, Value):
        return set()
    return {node.name for node in walk(meaning.expression) if isinstance(node, Index)}


def assigned(body: Iterable[ast.stmt]) -> frozenset[str]:
    """The names that statements assign to: variables, and arrays that they change."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                base: ast.expr = node
                while isinstance(base, ast.Subscript):
                    base = base.value
                if isinstance(base, ast.Name):
                    found.add(base.id)
    return frozenset(found)


def literals_assigned(body: Iterable[ast.stmt]) -> list[tuple[str, float]]:
    """The names that statements assign literals to, each with the number."""
    found: list[tuple[str, float]] = []
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    value = ast.literal_eval(node.value)
                except (ValueError, TypeError, RecursionError):
                    continue
                if isinstance(value, bool | int | float):
                    found.append((node.targets[0].id, value))
    return found


def always_assigns(body: Iterable[ast.stmt], name: str) -> bool:
    """Whether statements give a variable a value, whichever way they take."""
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
