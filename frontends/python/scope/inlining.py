"""The body of a function that is called, with names of its own, for the place of the call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Container, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from polysched.frontends.python.scope.specialized import specialized, static_value
from polysched.frontends.python.source.function_source import FunctionSource


@dataclass(frozen=True)
class Inlined:
    """A function's body at a call.

    Attributes:
        body: its statements, with assignments in the place of ``return``.
        result: the names that hold the returned values; None if the function returns nothing.
        names: its local names.
    """

    body: list[ast.stmt]
    result: ast.expr | None
    names: frozenset[str]


def bound_arguments(signature: inspect.Signature, node: ast.Call) -> dict[str, Any]:
    """The arguments of a call by parameter: syntax trees, and the values of defaults."""
    if any(keyword.arg is None for keyword in node.keywords):
        raise TypeError("expected arguments without '**'")
    bound = signature.bind(
        *node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords}
    )
    bound.apply_defaults()
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            raise TypeError(f"expected no '*{parameter.name}' in its definition")
    return dict(bound.arguments)


def with_own_names(source: FunctionSource, prefix: str, taken: Container[str]) -> FunctionSource:
    """A function whose names of objects outside differ from the names of the caller's variables.

    Args:
        prefix: what such names get; `inlined_body` gives it to the variables.
        taken: the caller's variables.
    """
    own = _locals(source.node)
    shared = {
        part.id
        for node in (source.node, *source.functions.values())
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and part.id in taken and part.id in source.outer
    } - own
    if not shared and not source.functions:
        return source

    def renamed(node: ast.FunctionDef, names: set[str]) -> ast.FunctionDef:
        result = Renamer(names - _locals(node), prefix).visit(deepcopy(node))
        assert isinstance(result, ast.FunctionDef)
        return result

    # Functions that it defines read its variables, which `inlined_body` gives the prefix.
    functions = {name: renamed(node, shared | own) for name, node in source.functions.items()}
    outer = {**source.outer, **{prefix + name: source.outer[name] for name in shared}}
    return replace(source, node=renamed(source.node, shared), functions=functions, outer=outer)


def _locals(node: ast.FunctionDef) -> set[str]:
    """The parameters and the variables of a function."""
    nodes = list(ast.walk(node))
    stored = {
        part.id for part in nodes if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }
    return stored | {part.arg for part in nodes if isinstance(part, ast.arg)}


def inlined_body(
    source: FunctionSource, prefix: str, arguments: Mapping[str, Any] = MappingProxyType({})
) -> Inlined:
    """The body of a function whose local names get a prefix.

    Args:
        arguments: the arguments of the call; the function is specialized for some of them.

    Raises:
        FrontendError: a ``return`` stands in a loop, or returns differ in length.
    """
    body = [node for node in source.node.body if not _is_text(node)]
    values = {name: static_value(argument) for name, argument in arguments.items()}
    static = {name: value for name, value in values.items() if value is not None}
    body = specialized(body, static, arguments.keys() - static.keys())
    names = {node.arg for node in ast.walk(source.node.args) if isinstance(node, ast.arg)}
    names |= {
        node.id
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    renamed = [Renamer(names, prefix).visit(deepcopy(node)) for node in body]
    returned = [
        node.value
        for statement in renamed
        for node in ast.walk(statement)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    result = _result(source, returned, prefix)
    if result is None or renamed:
        renamed = _without_returns(source, renamed, result)
    return Inlined(renamed, result, frozenset(prefix + name for name in names))


def _result(source: FunctionSource, values: list[ast.expr], prefix: str) -> ast.expr | None:
    if not values:
        return None
    first = values[0]
    count = len(first.elts) if isinstance(first, ast.Tuple) else 0
    for value in values:
        if (len(value.elts) if isinstance(value, ast.Tuple) else 0) != count:
            raise source.error(value, "this returns another number of values than the first return")
    if not count:
        return ast.copy_location(ast.Name(f"{prefix}result", ast.Load()), first)
    parts: list[ast.expr] = [
        ast.copy_location(ast.Name(f"{prefix}result_{i}", ast.Load()), first) for i in range(count)
    ]
    return ast.copy_location(ast.Tuple(parts, ast.Load()), first)


def _without_returns(
    source: FunctionSource, body: list[ast.stmt], result: ast.expr | None
) -> list[ast.stmt]:
    """Replace ``return`` by assignments; statements after a branch that returns move into it."""
    done: list[ast.stmt] = []
    for position, node in enumerate(body):
        if isinstance(node, ast.Return):
            if result is not None:
                if node.value is None:
                    raise source.error(node, "expected a value, as in the other returns")
                target = _as_target(result, node)
                done.append(ast.copy_location(ast.Assign([target], node.value), node))
            return done
        if not any(isinstance(part, ast.Return) for part in ast.walk(node)):
            done.append(node)
            continue
        if not isinstance(node, ast.If):
            raise source.error(node, "a 'return' inside of this is not supported")
        rest = body[position + 1 :]
        sides = [
            _without_returns(source, [*side, *(() if _returns(side) else rest)], result)
            for side in (node.body, node.orelse)
        ]
        nothing = ast.copy_location(ast.Pass(), node)
        done.append(ast.copy_location(ast.If(node.test, sides[0] or [nothing], sides[1]), node))
        return done
    return done


def _returns(body: list[ast.stmt]) -> bool:
    """Whether statements end with a return on every path."""
    for node in body:
        if isinstance(node, ast.Return):
            return True
        if isinstance(node, ast.If) and _returns(node.body) and _returns(node.orelse):
            return True
    return False


def _as_target(result: ast.expr, node: ast.AST) -> ast.expr:
    if isinstance(result, ast.Tuple):
        targets = [_as_target(part, node) for part in result.elts]
        return ast.copy_location(ast.Tuple(targets, ast.Store()), node)
    assert isinstance(result, ast.Name)
    return ast.copy_location(ast.Name(result.id, ast.Store()), node)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class Renamer(ast.NodeTransformer):
    """Gives local names a prefix."""

    def __init__(self, names: set[str], prefix: str) -> None:
        self.names = names
        self.prefix = prefix

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Rename a local name."""
        if node.id in self.names:
            node.id = self.prefix + node.id
        return node
