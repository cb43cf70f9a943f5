"""A random program as data: arrays, loops, conditions and assignments, without polysched."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class E:
    """An expression: an operation, the element type of its value, and its operands.

    ``lit`` holds a number, ``var`` the name of an index or parameter, ``load`` the name of an array
    and then subscripts; all other operations hold expressions.
    """

    op: str
    type: str
    args: tuple[object, ...]

    def children(self) -> tuple[E, ...]:
        return tuple(one for one in self.args if isinstance(one, E))


def lit(value: float, dtype: str = "i64") -> E:
    return E("lit", dtype, (value,))


def var(name: str) -> E:
    return E("var", "i64", (name,))


def binary(op: str, left: E, right: E) -> E:
    return E(op, left.type, (left, right))


def add(left: E, right: E | int) -> E:
    if isinstance(right, int):
        if right == 0:
            return left
        return binary("add" if right > 0 else "sub", left, lit(abs(right)))
    return binary("add", left, right)


@dataclass(frozen=True)
class Param:
    name: str
    minimum: int


@dataclass(frozen=True)
class Array:
    """``role`` is a method of the builder. ``values`` is the excluded upper end of index values."""

    name: str
    type: str
    role: str
    extents: tuple[E, ...]
    strides: tuple[E, ...] | None = None
    rows: str | None = None
    values: E | None = None

    @property
    def bits(self) -> int:
        return 8 if self.type == "bool" else int(self.type[1:])

    @property
    def is_packed(self) -> bool:
        odd = self.type != "bool" and self.bits not in (8, 16, 32, 64)
        return odd and self.role != "temporary"


@dataclass(frozen=True)
class Loop:
    name: str
    lower: E
    upper: E
    step: int
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Where:
    condition: E
    body: tuple[Node, ...]


@dataclass(frozen=True)
class Statement:
    name: str
    array: str
    subscripts: tuple[E, ...]
    value: E
    order: str | None = None


Node = Loop | Where | Statement


@dataclass(frozen=True)
class Program:
    params: tuple[Param, ...]
    arrays: tuple[Array, ...]
    body: tuple[Node, ...]
    fixed: dict[str, int] = field(default_factory=dict, compare=False)

    def array(self, name: str) -> Array:
        return next(one for one in self.arrays if one.name == name)


def statements(body: tuple[Node, ...]) -> Iterator[Statement]:
    for node in body:
        if isinstance(node, Statement):
            yield node
        else:
            yield from statements(node.body)


def around(body: tuple[Node, ...], name: str) -> tuple[Loop | Where, ...] | None:
    """The loops and conditions around a statement, the outermost first."""
    for node in body:
        if isinstance(node, Statement):
            if node.name == name:
                return ()
        else:
            inner = around(node.body, name)
            if inner is not None:
                return (node, *inner)
    return None


def loads(expression: E) -> Iterator[E]:
    """All loads of an expression, those in subscripts too."""
    if expression.op == "load":
        yield expression
    for child in expression.children():
        yield from loads(child)


def reads(statement: Statement) -> tuple[E, ...]:
    inside = (load for one in statement.subscripts for load in loads(one))
    return (*inside, *loads(statement.value))


REDUCING = frozenset({"add", "sub", "mul", "min", "max", "and", "or", "xor"})


def is_free_reduction(statement: Statement) -> bool:
    """Whether the statement is ``a[e] = a[e] op f`` whose terms may be taken in any order."""
    if statement.order == "exact" or statement.value.op not in REDUCING:
        return False
    if statement.order is None and statement.value.type[0] == "f":
        return False
    left, right = statement.value.children()
    own = E("load", left.type, (statement.array, *statement.subscripts))
    if left == own:
        rest = right
    elif right == own and statement.value.op != "sub":
        rest = left
    else:
        return False
    return all(load.args[0] != statement.array for load in loads(rest))
