"""Whether the value of a variable may be read after a statement (backward liveness, by scanning).

``x = new`` in a loop binds ``x`` to the array of ``new``. If nothing reads ``new`` before it gets
another array, a copy of the elements is the same.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Any

from polysched.frontends.python.source.called_functions import meant, original, split_output
from polysched.frontends.python.source.stored_names import rebound

_VIEWS = frozenset(
    {
        *("asarray", "ascontiguousarray", "atleast_1d", "atleast_2d", "broadcast_to", "diag"),
        *("diagonal", "expand_dims", "flip", "fliplr", "flipud", "moveaxis", "ravel", "reshape"),
        *("rollaxis", "rot90", "split", "squeeze", "swapaxes", "transpose", "view"),
    }
)
"""The functions and methods of numpy whose result may be a view; others make new arrays."""


def is_dead_after(function: ast.FunctionDef, statement: ast.stmt, name: str) -> bool:
    """Whether nothing reads the value that a variable has before a statement after it.

    Args:
        statement: one of its statements, or a copy at the same position in the source.
    """
    return name in rebound([statement]) or is_never_read_after(function, statement, name)


def is_never_read_after(function: ast.FunctionDef, statement: ast.stmt, name: str) -> bool:
    """Whether nothing reads the value that a variable has after a statement."""
    path = _path(function.body, statement)
    if path is None:
        return False
    for depth in range(len(path) - 1, -1, -1):
        block, position, owner = path[depth]
        after = first_use(block[position + 1 :], name)
        if after is False or (after and not _may_leave(block[position + 1 :])):
            return after
        if isinstance(owner, ast.For | ast.While):  # the next iteration, or none
            again = first_use([*_header(owner), *block[: position + 1]], name)
            if again is False:
                return False
    return True


def _may_leave(statements: Sequence[ast.stmt]) -> bool:
    """Whether statements may leave or restart a loop, and what follows does not run."""
    parts = (part for node in statements for part in ast.walk(node))
    return any(isinstance(part, ast.Break | ast.Continue) for part in parts)


def is_changed(function: ast.FunctionDef, name: str, outer: Mapping[str, Any]) -> bool:
    """Whether a function may change the elements of a variable's array, by this or another name.

    Args:
        function: the function.
        name: the variable.
        outer: the values of the names outside of the function.
    """
    names = {name}
    while True:
        shown = {
            target.id
            for node in ast.walk(function)
            for part, values in _bindings(node)
            if any(_shows(value, names) for value in values)
            for target in ast.walk(part)
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        }
        if shown <= names:
            return any(_changes(node, names, outer) for node in ast.walk(function))
        names |= shown


def _bindings(node: ast.AST) -> list[tuple[ast.expr, list[ast.expr]]]:
    """The targets that a node binds, each with the values that it may show."""
    match node:
        case ast.Assign(targets=targets, value=value):
            return [(target, [value]) for target in targets]
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return [(target, [value])]
        case ast.NamedExpr(target=target, value=value):
            return [(target, [value])]
        case ast.For(target=target, iter=rows) | ast.comprehension(target=target, iter=rows):
            # The rows of an array, or of the arrays in a call such as zip(x, y).
            return [(target, [rows, *(rows.args if isinstance(rows, ast.Call) else ())])]
    return []


def _shows(node: ast.expr, names: set[str]) -> bool:
    """Whether a value may be an array of some names, or a view of one."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Subscript(value=inner) | ast.Attribute(value=inner) | ast.Starred(value=inner):
            return _shows(inner, names)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return any(_shows(part, names) for part in parts)
        case ast.IfExp(body=body, orelse=orelse):
            return _shows(body, names) or _shows(orelse, names)
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=arguments):
            is_view = attr in _VIEWS
            return is_view and any(_shows(part, names) for part in (owner, *arguments))
        case ast.Call(func=func, args=arguments):
            is_known = isinstance(func, ast.Name) and func.id in dir(builtins)
            return not is_known and any(_shows(part, names) for part in arguments)
    return False


def _changes(node: ast.AST, names: set[str], outer: Mapping[str, Any]) -> bool:
    match node:
        case ast.AugAssign(target=target):
            return _shows(target, names)
        case ast.Subscript(value=inner, ctx=ast.Store()):
            return _shows(inner, names)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner), args=arguments)):
            # x.fill(0), np.copyto(x, y)
            return any(_shows(part, names) for part in (owner, *arguments[:1]))
        case ast.Call(func=func, args=arguments, keywords=keywords):
            function = meant(func, outer)
            is_builtin = isinstance(func, ast.Name) and func.id in dir(builtins)
            if is_builtin or (isinstance(func, ast.Attribute) and original(function) is None):
                output = split_output(function, node)
                given = [] if output is None else [output[1]]
            else:
                given = [*arguments, *(keyword.value for keyword in keywords)]
            return any(_shows(part, names) for part in given)
    return False


_Block = tuple[Sequence[ast.stmt], int, ast.stmt | None]


def _path(
    body: Sequence[ast.stmt], statement: ast.stmt, owner: ast.stmt | None = None
) -> list[_Block] | None:
    """The blocks around a statement, the innermost last: the block, the position, its owner."""
    for position, node in enumerate(body):
        here: _Block = (body, position, owner)
        if _position(node) == _position(statement) and type(node) is type(statement):
            return [here]
        for name in ("body", "orelse"):
            inner = getattr(node, name, [])
            if isinstance(inner, list):
                path = _path(inner, statement, node)
                if path is not None:
                    return [here, *path]
    return None


def _header(loop: ast.For | ast.While) -> list[ast.stmt]:
    """Return the test or the iterated expression of a loop, as a statement."""
    test = loop.test if isinstance(loop, ast.While) else ast.Constant(None)
    return [ast.Expr(test)]


def first_use(statements: Sequence[ast.stmt], name: str) -> bool | None:
    """Whether the first use of a name is an assignment; None if it may have no use."""
    for node in statements:
        if isinstance(node, ast.For | ast.If) and not _uses_at_start(node, name):
            is_index = isinstance(node, ast.For) and _uses(node.target, name)
            sides = [None if is_index else first_use(node.body, name)]
            sides.append(first_use(node.orelse, name))
            if False in sides:
                return False
            if isinstance(node, ast.If) and None not in sides:
                return True
            continue
        if isinstance(node, ast.Assign) and any(_is(target, name) for target in node.targets):
            return not _uses(node.value, name)
        if _uses(node, name):
            return False
    return None


def _uses_at_start(node: ast.For | ast.If, name: str) -> bool:
    """Whether a loop or branch reads a name before its body."""
    return _uses(node.test if isinstance(node, ast.If) else node.iter, name)


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _uses(node: ast.AST, name: str) -> bool:
    return any(_is(part, name) for part in ast.walk(node))


def _position(node: ast.stmt) -> tuple[int, int, int | None, int | None]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset
