"""Source of a Python function: its syntax tree, and the position of each node in the file."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from types import FunctionType
from typing import Any

from polysched.errors import FrontendError
from polysched.frontends.python.source.buffer_swaps import without_swaps
from polysched.frontends.python.source.control_flow import structured
from polysched.frontends.python.source.error_state import without_error_states
from polysched.frontends.python.source.kept_indices import with_kept_indices
from polysched.frontends.python.source.local_functions import free_names, split_functions
from polysched.frontends.python.source.loop_targets import with_own_targets
from polysched.frontends.python.source.plain_statements import plain
from polysched.frontends.python.source.tuple_names import split_constants, without_tuples
from polysched.frontends.source_text import Span
from polysched.ir.expr.expressions import DEEPEST
from polysched.ir.expr.source import SourceLocation

PART = "_polysched_source"
"""The attribute of a function that is a part of another one: its `FunctionSource`."""

_ADVICE = "expected a function written with 'def' in a file"


@dataclass(frozen=True)
class FunctionSource:
    """A function's definition.

    Attributes:
        first_line: the line number in the file of the definition, decorators included.
        lines: the lines of the definition, indented as in the file.
        indent: the indentation of the definition, in characters.
        outer: the names visible in the function from outside, with their values.
        functions: the functions that the function defines, by name.
    """

    node: ast.FunctionDef
    path: str
    first_line: int
    lines: tuple[str, ...]
    indent: int
    outer: Mapping[str, Any]
    functions: Mapping[str, ast.FunctionDef] = field(default_factory=dict)

    def local(self, name: str) -> FunctionSource:
        """The source of a function that the function defines.

        Raises:
            FrontendError: it contains a statement that is not supported.
        """
        return replace(self, node=structured(self.functions[name], self.error))

    def span(self, node: ast.AST) -> Span:
        """The position of a node; only its first line if it spans several."""
        position: Any = node
        text = self.lines[position.lineno - 1]
        column = self._column(text, position.col_offset)
        is_one_line = position.end_lineno == position.lineno
        end = self._column(text, position.end_col_offset) if is_one_line else len(text) + 1
        return Span(self.path, self.first_line + position.lineno - 1, column, end, text)

    def error(self, node: ast.AST, reason: str) -> FrontendError:
        """The error that points at a node."""
        return self.span(node).error(reason)

    def error_at(self, location: SourceLocation, reason: str) -> FrontendError:
        """The error that points at a location, of this function or one that is inlined."""
        for node in ast.walk(self.node):
            if isinstance(node, ast.expr | ast.stmt):
                span = self.span(node)
                if span.location == location:
                    return span.error(reason)
        return FrontendError(f"{location}: {reason}", reason, location)

    def assignment(self, name: str) -> ast.AST:
        """The first assignment to a variable; the function's definition if there is none."""
        for node in ast.walk(self.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return node
        return self.node

    def _column(self, text: str, offset: int) -> int:
        """Convert a byte offset in the dedented line to a column of the file."""
        return self.indent + len(text[self.indent :].encode()[:offset].decode(errors="ignore")) + 1


def function_source(function: Callable[..., Any], *, is_inlined: bool = False) -> FunctionSource:
    """Read the definition of a function, with its control flow rewritten.

    Args:
        is_inlined: whether it is read in the place of a call.

    Raises:
        FrontendError: it is not a plain function, or its source is not available.
    """
    source = written_source(function)
    written = without_error_states(
        plain(source.node, source.error, is_inlined=is_inlined), source.outer
    )
    node, constants = split_constants(written, source.outer)
    outer = {**source.outer, **constants} if constants else source.outer
    own, functions = split_functions(without_tuples(node, outer))
    held = {name for inner in functions.values() for name in free_names(inner)}
    unswapped = with_own_targets(without_swaps(own, outer, held), held)
    return replace(
        source,
        outer=outer,
        node=structured(with_kept_indices(unswapped, held), source.error, held),
        functions=functions,
    )


def written_source(function: Callable[..., Any]) -> FunctionSource:
    """Read a function's definition as written; it raises the errors of `function_source`."""
    part = vars(function).get(PART) if isinstance(function, FunctionType) else None
    if part is not None:
        return part  # type: ignore[no-any-return]
    if not isinstance(function, FunctionType):
        raise FrontendError(f"{function!r} is not a Python function; {_ADVICE}")
    name = function.__name__
    try:
        source_lines, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise FrontendError(f"the source of '{name}' is not available; {_ADVICE}") from None
    lines = tuple(line.rstrip("\r\n") for line in source_lines)
    text = textwrap.dedent("\n".join(lines))
    indent = len(lines[0]) - len(text.partition("\n")[0])
    try:
        node = ast.parse(text).body[0]
    except SyntaxError:
        raise FrontendError(
            f"the source of '{name}' cannot be parsed on its own; {_ADVICE}"
        ) from None
    if not isinstance(node, ast.FunctionDef):
        raise FrontendError(f"'{name}' is not defined by 'def'; {_ADVICE}")
    path = inspect.getsourcefile(function) or "<unknown>"
    source = FunctionSource(node, path, first_line, lines, indent, _outer(function))
    _require_shallow(source)
    return source


@cache
def library_source(function: FunctionType) -> FunctionSource:
    """The definition of a function of a library, whose names outside never change."""
    return function_source(function)


def _outer(function: FunctionType) -> Mapping[str, Any]:
    """The names outside of a function: builtins, module globals, enclosing functions' variables."""
    names: dict[str, Any] = dict(vars(builtins))
    names.update(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # assigned later
            names.pop(name, None)
    return names


def _require_shallow(source: FunctionSource) -> None:
    """Limit the depth of the tree, so that recursive functions stay within Python's limit."""
    level: list[ast.AST] = [source.node]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    deepest = next((node for node in level if isinstance(node, ast.expr | ast.stmt)), source.node)
    raise source.error(
        deepest, f"this is nested {DEEPEST} operations deep; expected less: use several statements"
    )
