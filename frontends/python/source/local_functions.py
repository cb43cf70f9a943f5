"""Functions inside of a function: ``def`` and ``name = lambda``, inlined where they are called.

::

    def smooth(x, strength=0.5):
        def mixed(a, b):                        # reads `strength` of the function around
            return strength * a + (1 - strength) * b
        square = lambda v: v * v
        ...
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from copy import copy


def split_functions(node: ast.FunctionDef) -> tuple[ast.FunctionDef, Mapping[str, ast.FunctionDef]]:
    """The function without the functions that its body defines, and these by name.

    A name that the function assigns to elsewhere is left where it is. A default value that may be
    another one at the call, as in ``lambda v, k=k: v * k`` before ``k = 3``, gets a name.
    """
    found: dict[str, ast.FunctionDef] = {}
    body: list[ast.stmt] = []
    for statement in node.body:
        inner = _defined(statement)
        if inner is None or _bindings(node, inner.name) != 1:
            body.append(statement)
        else:
            kept, found[inner.name] = _with_kept_defaults(node, inner)
            body += kept
    if not found:
        return node, found
    result = copy(node)
    result.body = body or [ast.copy_location(ast.Pass(), node)]
    return result, found


def _with_kept_defaults(
    node: ast.FunctionDef, inner: ast.FunctionDef
) -> tuple[list[ast.stmt], ast.FunctionDef]:
    """Assign default values that may change later to names, which the function then has."""
    kept: list[ast.stmt] = []

    def named(default: ast.expr | None) -> ast.expr | None:
        parts = () if default is None else tuple(ast.walk(default))
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        is_read = any(isinstance(part, ast.Subscript | ast.Call) for part in parts)
        if default is None or not (is_read or any(_bindings(node, name) > 1 for name in names)):
            return default
        name = f"{inner.name}_default_{len(kept)}"
        while _bindings(node, name):
            name += "_"
        target, read = (ast.Name(name, context) for context in (ast.Store(), ast.Load()))
        made = ast.Assign([ast.copy_location(target, default)], default)
        kept.append(ast.copy_location(made, default))
        return ast.copy_location(read, default)

    result = copy(inner)
    result.args = copy(inner.args)
    result.args.defaults = [
        default for default in map(named, inner.args.defaults) if default is not None
    ]
    result.args.kw_defaults = [*map(named, inner.args.kw_defaults)]
    return kept, result


def signature_of(node: ast.FunctionDef) -> inspect.Signature:
    """The signature of a function; defaults are syntax trees."""
    arguments, kind = node.args, inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    parameters = [
        _parameter(argument.arg, kind.POSITIONAL_OR_KEYWORD, default)
        for argument, default in zip(positional, defaults, strict=True)
    ]
    if arguments.vararg is not None:
        parameters.append(kind(arguments.vararg.arg, kind.VAR_POSITIONAL))
    parameters += [
        _parameter(argument.arg, kind.KEYWORD_ONLY, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        parameters.append(kind(arguments.kwarg.arg, kind.VAR_KEYWORD))
    return inspect.Signature(parameters)


def free_names(node: ast.FunctionDef) -> set[str]:
    """The names that a function uses and does not bind, which are variables of the one around."""
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return {name for name in names if not _bindings(node, name)} | {
        part.id
        for default in (*node.args.defaults, *node.args.kw_defaults)
        for part in ast.walk(default or ast.Pass())
        if isinstance(part, ast.Name)
    }


def _parameter(name: str, kind: inspect._ParameterKind, default: object) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    return inspect.Parameter(name, kind, default=empty if default is None else default)


def _defined(node: ast.stmt) -> ast.FunctionDef | None:
    match node:
        case ast.FunctionDef():
            return node
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda(args=arguments, body=value)):
            returned = ast.copy_location(ast.Return(value), value)
            made = ast.FunctionDef(name, arguments, [returned], [], None, None)
            return ast.copy_location(made, node)
    return None


def _bindings(node: ast.FunctionDef, name: str) -> int:
    """The number of places where a function binds a name."""
    return sum(
        (isinstance(part, ast.FunctionDef | ast.ClassDef) and part.name == name)
        or (isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Store))
        or (isinstance(part, ast.arg) and part.arg == name)
        for part in ast.walk(node)
    )
