"""Variables that hold tuples: one variable for each element, or a constant.

::

    best = (np.inf, -1)                 best_0, best_1 = np.inf, -1
    for i in range(n):                  for i in range(n):
        if x[i] < best[0]:        ->        if x[i] < best_0:
            best = (x[i], i)                    best_0, best_1 = x[i], i
    return best                         return best_0, best_1

Such a variable always holds a tuple of the same length, of another such variable or as written.
A tuple or list of literals that is assigned once and never changed is a constant, like one outside
of the function: ``for dy, dx in offsets:`` and ``weights[k]`` read it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np

from polysched.frontends.python.source.changed_nodes import with_fields

_READERS = frozenset({"enumerate", "len", "max", "min", "reversed", "sum", "zip"})


def without_tuples(function: ast.FunctionDef, outer: Mapping[str, Any]) -> ast.FunctionDef:
    """The function without variables that hold tuples, and without names of subscripts.

    Args:
        outer: the names outside of the function. Numpy reads ``x[T]`` of a tuple ``T`` as
            ``x[T[0], T[1]]``, and of a list as elements.
    """
    lengths = _lengths(function)
    nodes = list(ast.walk(function))
    taken = {_name_of(node) for node in nodes}
    own = {_name_of(node) for node in nodes if not isinstance(getattr(node, "ctx", None), ast.Load)}
    subscripts = {
        node.slice.id: tree
        for node in nodes
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Name)
        and node.slice.id not in own
        and isinstance(outer.get(node.slice.id), tuple)
        and (tree := literal_tree(outer[node.slice.id])) is not None
    }
    if not lengths and not subscripts:
        return function
    parts: dict[str, list[str]] = {}
    for name, length in lengths.items():
        stem = name
        while any(f"{stem}_{at}" in taken for at in range(length)):
            stem += "_"
        parts[name] = [f"{stem}_{at}" for at in range(length)]
    result = _Elements(parts, subscripts).visit(deepcopy(function))
    assert isinstance(result, ast.FunctionDef)
    return result


def split_constants(
    function: ast.FunctionDef, outer: Mapping[str, Any]
) -> tuple[ast.FunctionDef, Mapping[str, Any]]:
    """The function without the tuples, lists and arrays of literals that it never changes, and
    these.

    Args:
        outer: the names outside of the function.
    """
    parents = {part: node for node in ast.walk(function) for part in ast.iter_child_nodes(node)}
    uses: dict[str | None, list[ast.AST]] = {}
    for node in parents:
        uses.setdefault(_name_of(node), []).append(node)
    constants: dict[str, Any] = {}
    body: list[ast.stmt] = []
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                loads = [use for use in uses[name] if use is not target]
                held = _literal(value, outer)
                if held is not None and all(
                    _only_reads(load, parents[load], held) for load in loads
                ):
                    constants[name] = held
                    continue
        body.append(statement)
    if not constants:
        return function, constants
    return with_fields(function, body=body or [ast.copy_location(ast.Pass(), function)]), constants


def literal_tree(value: object) -> ast.Tuple | None:
    """The syntax tree of a list or tuple of numbers, or of such lists; None for other objects."""
    if not isinstance(value, list | tuple):
        return None
    parts: list[ast.expr] = []
    for item in value:
        part = ast.Constant(item) if type(item) in (bool, int, float) else literal_tree(item)
        if part is None:
            return None
        parts.append(part)
    return ast.Tuple(parts, ast.Load())


def _literal(value: ast.expr, outer: Mapping[str, Any]) -> Any:
    """The tuple, list or array that an expression makes of literals; None for others."""
    match value:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=module), attr="array"),
            args=[ast.List() | ast.Tuple() as numbers],
            keywords=[],
        ) if outer.get(module) is np:
            rows = _evaluated(numbers)
            if not rows or literal_tree(rows) is None:
                return None
            with suppress(ValueError):  # rows of different lengths
                return np.array(rows)
        case ast.List() | ast.Tuple():
            return _evaluated(value) or None
    return None


def _is_element(index: ast.expr, rank: int) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return len(parts) == rank and not any(isinstance(part, ast.Slice) for part in parts)


def _evaluated(value: ast.expr) -> Any:
    try:
        return ast.literal_eval(value)
    except (ValueError, TypeError, RecursionError):
        return None


def _only_reads(use: ast.AST, parent: ast.AST, held: Any) -> bool:
    """Whether a use of a name reads its value; a list or an array may be changed by other names."""
    if not isinstance(use, ast.Name) or not isinstance(use.ctx, ast.Load):
        return False
    match parent:
        case ast.Subscript(value=value, slice=index, ctx=ctx) if value is use:
            return isinstance(ctx, ast.Load) and (
                not isinstance(held, np.ndarray) or _is_element(index, held.ndim)
            )
        case ast.For(iter=iterated):
            return iterated is use and not isinstance(held, np.ndarray)
        case ast.Call(func=ast.Name(id=name)) if name in _READERS:
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name())):
            return not isinstance(held, np.ndarray)  # a function of numpy
    return isinstance(held, tuple) and not isinstance(parent, ast.Return)


def _name_of(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else getattr(node, "arg", None)


def _lengths(function: ast.FunctionDef) -> dict[str, int]:
    """The lengths of the tuples that variables hold."""
    nodes = list(ast.walk(function))
    assigned: dict[str, list[ast.expr]] = {}
    targets: set[ast.expr] = set()
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
                    targets.add(target)
    others = {_name_of(node) for node in nodes if isinstance(node, ast.arg)} | {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node not in targets
    }
    known: dict[str, int] = {}
    while True:
        more = {
            name: length
            for name, values in assigned.items()
            if name not in others
            for value in values
            if (length := _length(value, known))
        }
        if more.keys() == known.keys():
            break
        known = {**more, **known}
    while True:
        fitting = {
            name: length
            for name, length in known.items()
            if all(_length(value, known) == length for value in assigned[name])
        }
        if fitting == known:
            return known
        known = fitting


def _length(value: ast.expr, known: Mapping[str, int]) -> int | None:
    match value:
        case ast.Tuple(elts=parts) if not any(isinstance(part, ast.Starred) for part in parts):
            return len(parts)
        case ast.Name(id=name):
            return known.get(name)
    return None


class _Elements(ast.NodeTransformer):
    """Writes elements in the place of names of tuples.

    Args:
        parts: the variables of the elements of each variable.
        subscripts: the literals of tuples outside of the function that are subscripts.
    """

    def __init__(self, parts: Mapping[str, list[str]], subscripts: Mapping[str, ast.Tuple]) -> None:
        self.parts = parts
        self.subscripts = subscripts

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``t[1]``, and ``x[T]``."""
        value, index = node.value, node.slice
        if isinstance(value, ast.Name) and value.id in self.parts:
            at = _integer(index)
            names = self.parts[value.id]
            if at is not None and -len(names) <= at < len(names):
                return ast.copy_location(ast.Name(names[at], node.ctx), node)
        if isinstance(index, ast.Name) and index.id in self.subscripts:
            node.slice = deepcopy(self.subscripts[index.id])
            for part in ast.walk(node.slice):
                ast.copy_location(part, index)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``len(t)``."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self.parts:
                return ast.copy_location(ast.Constant(len(self.parts[name])), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """``t`` elsewhere."""
        if node.id not in self.parts:
            return node
        names = self.parts[node.id]
        elements: list[ast.expr] = [ast.Name(name, node.ctx) for name in names]
        result = ast.copy_location(ast.Tuple(elements, node.ctx), node)
        for part in elements:
            ast.copy_location(part, node)
        return result


def _integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return value if isinstance(value, int) else None
