"""Specialize a function for arguments that are no numbers: ``None``, text, tuples and records.

::

    def norm(x, axis=None):             norm(a):
        if axis is None:            ->      return np.sqrt(np.sum(a * a))
            return np.sqrt(np.sum(x * x))
        return np.sqrt(np.sum(x * x, axis=axis))

Such a parameter is replaced by its value until the function assigns to it, and tests of it choose a
side when the function is read.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from types import MappingProxyType
from typing import Any, TypeVar

from polysched.frontends.python.source.records import Record, RecordTree
from polysched.frontends.python.source.stored_names import rebound

NodeT = TypeVar("NodeT", bound=ast.AST)
_EQUAL = (ast.Eq, ast.Is)
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = MappingProxyType(
    {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
    }
)
_DIFFERENT = (ast.NotEq, ast.IsNot)


def static_value(argument: Any) -> ast.expr | None:
    """The syntax tree of an argument that is replaced; None for numbers, arrays and expressions.

    Args:
        argument: the tree of an argument in a call, or the value of a default.
    """
    if not isinstance(argument, ast.AST):
        return _tree(argument)
    match argument:
        case ast.Constant(value=None | bool() | str()) | RecordTree():
            return argument
        case ast.Tuple(elts=parts) if all(static_value(part) or _is_number(part) for part in parts):
            return argument
    return None


def specialized(
    body: list[ast.stmt], values: Mapping[str, ast.expr], given: Iterable[str]
) -> list[ast.stmt]:
    """Statements in which parameters are replaced by their values, and tests of these decided.

    Args:
        body: the statements; nodes that change are copied.
        values: the values of parameters, as `static_value` gives them.
        given: the other parameters, which are not ``None``.
    """
    return _Specializer(values, frozenset(given)).block(body)


def specialized_expression(node: ast.expr, values: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with names replaced by literals, and comparisons of literals decided."""
    return _Specializer(values, frozenset()).visited(node)


def _tree(value: Any) -> ast.expr | None:
    if isinstance(value, Record):
        return RecordTree(value)
    if value is None or isinstance(value, bool | str):
        return ast.Constant(value)
    if isinstance(value, tuple):
        parts = [_tree(item) or (ast.Constant(item) if _is_plain(item) else None) for item in value]
        known = [part for part in parts if part is not None]
        return ast.Tuple(known, ast.Load()) if len(known) == len(parts) else None
    return None


def _is_plain(value: Any) -> bool:
    return type(value) in (int, float)


def _is_number(node: ast.expr) -> bool:
    part = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(part, ast.Constant) and _is_plain(part.value)


def literal(node: ast.expr) -> object:
    """The number, or tuple of numbers, that an expression is; None for other expressions."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    if all(_is_number(part) for part in parts):
        return ast.literal_eval(node)
    return None


class _Specializer:
    """The rewriting of one function, in the order of its statements.

    Attributes:
        values: the values of parameters up to the statement that is read.
        given: the names that are not ``None`` there.
    """

    def __init__(self, values: Mapping[str, ast.expr], given: frozenset[str]) -> None:
        self.values = values
        self.given = given

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The statements of a block."""
        done: list[ast.stmt] = []
        for node in body:
            changed = rebound([node])
            if isinstance(node, ast.If):
                test = self.visited(node.test)
                if isinstance(test, ast.Constant):
                    done += self.block(node.body if test.value else node.orelse)
                    continue
            if not isinstance(node, ast.Assign):
                self._forget(changed)
            done.append(self.visited(node))
            self._forget(changed)
        return done

    def _forget(self, names: frozenset[str]) -> None:
        """Take nothing as known of names that a statement assigns to."""
        self.values = {name: value for name, value in self.values.items() if name not in names}
        self.given -= names

    def visited(self, node: NodeT) -> NodeT:
        """A node with its parameters replaced."""
        new: Any = node
        for name, value in ast.iter_fields(node):
            part: Any = value
            if isinstance(value, ast.AST):
                part = self.visited(value)
            elif isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                part = self.block(value)
                if not part and name == "body":
                    part = [ast.copy_location(ast.Pass(), node)]
            elif isinstance(value, list):
                part = [self.visited(item) if isinstance(item, ast.AST) else item for item in value]
            if part is not value:
                new = copy(node) if new is node else new
                setattr(new, name, part)
        return self._decided(self._of_record(new))  # type: ignore[no-any-return]

    def _decided(self, node: Any) -> Any:
        result = node
        match node:
            case ast.Name(id=name, ctx=ast.Load()) if name in self.values:
                result = copy(self.values[name])
                parts = list(ast.walk(result))
                for part in parts:
                    ast.copy_location(part, node)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                is_same = self._same(left, right)
                pair = literal(left), literal(right)
                if pair[0] is not None and pair[1] is not None and type(op) in _COMPARED:
                    result = ast.Constant(_COMPARED[type(op)](*pair))
                elif is_same is not None and isinstance(op, _EQUAL + _DIFFERENT):
                    result = ast.Constant(is_same == isinstance(op, _EQUAL))
            case ast.Subscript(value=ast.Tuple(elts=parts), slice=ast.Constant(value=int(at))):
                if -len(parts) <= at < len(parts):
                    result = copy(parts[at])
            case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
                result = ast.Constant(not value)
            case ast.BoolOp(op=op, values=values):
                result = _joined(node, isinstance(op, ast.And), values)
            case ast.IfExp(test=ast.Constant(value=value)):
                result = node.body if value else node.orelse
        return result if result is node else ast.copy_location(result, node)

    def _of_record(self, node: Any) -> Any:
        """A node that uses a value of a record, with that value; other nodes unchanged."""
        value: ast.expr | None = None
        match node:
            case ast.Attribute(value=RecordTree() as tree, attr=name, ctx=ast.Load()):
                value = tree.value(tree.record.attributes, name)
            case ast.Subscript(value=RecordTree() as tree, slice=index, ctx=ast.Load()):
                key = index.value if isinstance(index, ast.Constant) else literal(index)
                value = tree.value(tree.record.subscripts, key)
            case ast.Assign(targets=[ast.Tuple()], value=RecordTree() as tree):
                if tree.record.subscripts and not isinstance(tree.record.subscripts[0], str):
                    parts = [self._decided(element) for element in tree.elts]
                    node = copy(node)
                    node.value = ast.copy_location(ast.Tuple(parts, ast.Load()), tree)
        return node if value is None else self._decided(ast.copy_location(value, node))

    def _same(self, left: ast.expr, right: ast.expr) -> bool | None:
        """Whether two operands are the same; None if that is not known here."""
        for side, other in ((left, right), (right, left)):
            if isinstance(side, ast.Constant) and (
                side.value is None or isinstance(side.value, str)
            ):
                if isinstance(other, ast.Constant):
                    return bool(side.value == other.value)
                if isinstance(other, ast.Tuple) or _is_number(other):
                    return False
                if isinstance(other, ast.Name) and other.id in self.given:
                    return False
        return None


def _joined(node: ast.BoolOp, is_and: bool, values: list[ast.expr]) -> ast.expr:
    """``and`` and ``or`` without the operands that decide nothing.

    A last operand stays if it may be the value: ``x and True`` of a number is not ``x``.
    """
    rest: list[ast.expr] = []
    for position, value in enumerate(values, 1):
        if not isinstance(value, ast.Constant):
            rest.append(value)
        elif bool(value.value) != is_and:
            return value if not rest else node
        elif position == len(values) and not (
            value.value is is_and and all(isinstance(part, ast.Compare) for part in rest)
        ):
            rest.append(value)
    if len(rest) == len(values):
        return node
    if not rest:
        return values[-1]
    if len(rest) == 1:
        return rest[0]
    result = copy(node)
    result.values = rest
    return result
