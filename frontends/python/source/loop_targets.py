"""Loop indices that reuse the name of a number: ``c = labels[i]`` before ``for c in range(k):``.

The index gets a name of its own if nothing reads its last value after the loop.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from copy import deepcopy

from polysched.frontends.python.source.liveness import is_never_read_after


def with_own_targets(function: ast.FunctionDef, held: Set[str] = frozenset()) -> ast.FunctionDef:
    """The function in which an index of a loop shares its name with no number.

    Args:
        held: the names that functions inside of it use, which keep their meaning.
    """
    shared = [loop for loop in _loops(function) if _is_shared(function, loop, held)]
    if not shared:
        return function
    names = {
        _position(loop): loop.target.id for loop in shared if isinstance(loop.target, ast.Name)
    }
    result = deepcopy(function)
    taken = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    for loop in _loops(result):
        name = names.get(_position(loop))
        if name is None:
            continue
        fresh, number = f"{name}_index", 1
        while fresh in taken:
            number += 1
            fresh = f"{name}_index_{number}"
        for part in (loop.target, *loop.body):
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and node.id == name:
                    node.id = fresh
    return result


def _is_shared(function: ast.FunctionDef, loop: ast.For, held: Set[str]) -> bool:
    """Whether the index of a loop has the name of a number, and is not read after the loop."""
    if not isinstance(loop.target, ast.Name) or loop.orelse or loop.target.id in held:
        return False
    name = loop.target.id
    inside = {id(node) for part in loop.body for node in ast.walk(part)}
    indices = {id(loop.target) for loop in _loops(function)}
    numbers = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and id(node) not in indices
    ]
    is_own = any(id(loop.target) in inside for loop in _loops(function) if _is_named(loop, name))
    if not numbers or is_own or any(id(node) in inside for node in numbers):
        return False
    return is_never_read_after(function, loop, name)


def _is_named(loop: ast.For, name: str) -> bool:
    return isinstance(loop.target, ast.Name) and loop.target.id == name


def _loops(function: ast.FunctionDef) -> list[ast.For]:
    return [node for node in ast.walk(function) if isinstance(node, ast.For)]


def _position(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset
