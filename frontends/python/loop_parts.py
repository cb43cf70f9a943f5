"""Cut a function at a ``while`` loop that does not count, and run the loop from Python.

::

    def solve(u, tolerance):
        error = 1.0                      first(u, tolerance) -> (error > tolerance, error)
        while error > tolerance:    ->
            error = sweep(u)             again(u, tolerance, error) -> (error > tolerance, error)
        return u                         last(u, tolerance, error) -> u

The parts are compiled functions, each with the values that the parts before it have assigned. An
array that they return is the one that its name stands for: an argument, a view, a new array. A loop
``while True:`` may end with ``if condition: break``.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from polysched.errors import FrontendError
from polysched.frontends.python.source.control_flow import end_of
from polysched.frontends.python.source.function_source import (
    PART,
    FunctionSource,
    written_source,
)
from polysched.frontends.python.source.liveness import first_use


@dataclass(frozen=True)
class _Part:
    """Statements of a function, compiled.

    Attributes:
        arguments: the variables that it reads.
        results: the variables whose values it returns, after whether the loop goes on.
    """

    function: Any
    arguments: tuple[str, ...]
    results: tuple[str, ...] = ()

    def run(self, values: dict[str, Any]) -> Any:
        """Run the part, and assign its results; return whether the loop goes on."""
        result = self.function(*(values[name] for name in self.arguments))
        if not self.results:
            return result
        values.update(zip(self.results, result[1:], strict=True))
        return result[0]


@dataclass(frozen=True)
class LoopParts:
    """The compiled parts of a function.

    Attributes:
        first: the statements before the loop.
        again: one iteration.
        last: the statements after the loop; None if the function ends with the loop.
    """

    first: _Part
    again: _Part
    last: _Part | None

    def run(self, arguments: Mapping[str, Any]) -> Any:
        """Run the function."""
        values = dict(arguments)
        goes_on = self.first.run(values)
        while goes_on:
            goes_on = self.again.run(values)
        return None if self.last is None else self.last.run(values)


def loop_parts(
    function: Callable[..., Any],
    error: FrontendError,
    compiled: Callable[[Any], Callable[..., Any]],
) -> LoopParts | None:
    """Cut a function at the loop to whose condition an error points.

    None if the loop is inside another statement, is left by ``break`` or ``return``, or assigns
    to a variable that is read after it and has no value before it.

    Args:
        compiled: compiles a function.
    """
    source = written_source(function)
    body, arguments = source.node.body, source.node.args
    at = next(
        (
            position
            for position, node in enumerate(body)
            if isinstance(node, ast.While) and source.span(node.test).location == error.location
        ),
        None,
    )
    if at is None or arguments.vararg or arguments.kwarg:
        return None
    loop = body[at]
    assert isinstance(loop, ast.While)
    before, after = body[:at], body[at + 1 :]
    inside, again, end = loop.body, loop.test, end_of(loop)
    if end is not None:
        inside, again = inside[:-1], ast.copy_location(ast.UnaryOp(ast.Not(), end), end)
    if loop.orelse or _is_left((*before, *inside)):
        return None
    given = [
        parameter.arg
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    ]
    helpers = [node for node in before if isinstance(node, ast.FunctionDef)]
    if _names((helper.args for helper in helpers), ast.Load):
        return None  # a default has the value that its names had at the definition
    read = _names((*helpers, loop, *after), ast.Load)
    known, changed = _names(before, ast.Store), _names(inside, ast.Store)
    own = changed.keys() - known.keys() - set(given)
    if own & _names((*after, ast.Expr(loop.test)), ast.Load).keys():
        return None
    names = [*given, *(name for name in known if name in read and name not in given)]

    def part(
        defined: Sequence[str], statements: Sequence[ast.stmt], results: Iterable[str] = ()
    ) -> _Part:
        taken = tuple(name for name in defined if first_use(statements, name) is False)
        return _Part(compiled(_function(source, function, taken, statements)), taken, (*results,))

    def until(
        test: ast.expr,
        defined: Sequence[str],
        statements: Sequence[ast.stmt],
        changed: Container[str],
    ) -> _Part:
        results = [name for name in names if name in changed]
        return part(defined, [*statements, _returns(test, results)], results)

    return LoopParts(
        until(loop.test, given, before, known),
        until(again, names, [*helpers, *inside], changed),
        part(names, [*helpers, *after]) if after else None,
    )


def _is_left(statements: Iterable[ast.stmt]) -> bool:
    """Whether statements return, or leave or restart the loop around them."""
    for node in statements:
        if isinstance(node, ast.Return | ast.Break | ast.Continue):
            return True
        if isinstance(node, ast.FunctionDef):
            continue
        is_loop = isinstance(node, ast.For | ast.While)
        inside = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
        if is_loop:
            if any(isinstance(inner, ast.Return) for part in inside for inner in ast.walk(part)):
                return True
        elif _is_left(inside):
            return True
    return False


def _names(statements: Iterable[ast.AST], context: type[ast.expr_context]) -> dict[str, None]:
    """Return the variables that statements read or assign to, in order."""
    return {
        node.id: None
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, context)
    }


def _returns(test: ast.expr, names: Sequence[str]) -> ast.Return:
    """Return the statement that returns whether the loop goes on, and the values of names."""
    if isinstance(test, ast.Name):  # a name can be returned once
        negated = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
        test = ast.copy_location(ast.UnaryOp(ast.Not(), negated), test)
    value = test
    if names:
        values = (ast.copy_location(ast.Name(name, ast.Load()), test) for name in names)
        value = ast.copy_location(ast.Tuple([test, *values], ast.Load()), test)
    return ast.copy_location(ast.Return(value), test)


def _function(
    source: FunctionSource,
    whole: Callable[..., Any],
    arguments: Sequence[str],
    statements: Sequence[ast.stmt],
) -> types.FunctionType:
    """Make a function of some statements, whose source is where they are written."""
    own = {
        argument.arg: argument
        for argument in ast.walk(source.node.args)
        if isinstance(argument, ast.arg)
    }
    node = copy(source.node)
    node.args = ast.arguments(
        posonlyargs=[],
        args=[
            ast.copy_location(ast.arg(name), own.get(name) or source.assignment(name))
            for name in arguments
        ],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    node.body, node.decorator_list = list(statements), []
    names: dict[str, Any] = {}
    exec(f"def {node.name}({', '.join(arguments)}): pass", names)  # a function with this signature
    made: types.FunctionType = names[node.name]
    made.__qualname__, made.__module__ = whole.__qualname__, whole.__module__
    vars(made)[PART] = replace(source, node=node)
    return made
