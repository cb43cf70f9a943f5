"""The source text of a function: its syntax tree, and where each node stands in the user's file."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from polysched.errors import FrontendError
from polysched.frontends.source_text import Span
from polysched.ir.expressions import DEEPEST

_ADVICE = "expected a function written with 'def' in a file"


@dataclass(frozen=True)
class FunctionSource:
    """A function's definition.

    Attributes:
        node: its syntax tree.
        path: the file.
        first_line: the number of the definition's first line, decorators included.
        lines: the lines of the definition, as they are in the file.
        indent: characters that the definition is indented by.
        outer: the values of the names that the function takes from around it.
    """

    node: ast.FunctionDef
    path: str
    first_line: int
    lines: tuple[str, ...]
    indent: int
    outer: Mapping[str, Any]

    def span(self, node: ast.AST) -> Span:
        """The place of a node; of one on several lines, what is on the first."""
        position: Any = node
        text = self.lines[position.lineno - 1]
        column = self._column(text, position.col_offset)
        is_one_line = position.end_lineno == position.lineno
        end = self._column(text, position.end_col_offset) if is_one_line else len(text) + 1
        return Span(self.path, self.first_line + position.lineno - 1, column, end, text)

    def error(self, node: ast.AST, reason: str) -> FrontendError:
        """The error that points at a node."""
        return self.span(node).error(reason)

    def assignment(self, name: str) -> ast.AST:
        """The first place at which a variable is assigned to; without one, the definition."""
        for node in ast.walk(self.node):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                return node
        return self.node

    def _column(self, text: str, offset: int) -> int:
        """Python counts bytes of the text without its indentation."""
        return self.indent + len(text[self.indent :].encode()[:offset].decode(errors="ignore")) + 1


def function_source(function: Callable[..., Any]) -> FunctionSource:
    """Read the definition of a function.

    Raises:
        FrontendError: it is no plain function, or its text is not at hand.
    """
    if not isinstance(function, FunctionType):
        raise FrontendError(f"{function!r} is no Python function; {_ADVICE}")
    name = function.__name__
    try:
        given, first_line = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise FrontendError(f"the source of '{name}' is not at hand; {_ADVICE}") from None
    lines = tuple(line.rstrip("\r\n") for line in given)
    text = textwrap.dedent("\n".join(lines))
    indent = len(lines[0]) - len(text.partition("\n")[0])
    try:
        node = ast.parse(text).body[0]
    except SyntaxError:
        raise FrontendError(f"the source of '{name}' cannot be read alone; {_ADVICE}") from None
    if not isinstance(node, ast.FunctionDef):
        raise FrontendError(f"'{name}' is defined by {type(node).__name__}; {_ADVICE}")
    path = inspect.getsourcefile(function) or "<unknown>"
    source = FunctionSource(node, path, first_line, lines, indent, _outer(function))
    _require_shallow(source)
    return source


def _outer(function: FunctionType) -> Mapping[str, Any]:
    """What names mean around a function: builtins, the module, the functions that enclose it."""
    found: dict[str, Any] = dict(vars(builtins))
    found.update(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # assigned later
            found.pop(name, None)
    return found


def _require_shallow(source: FunctionSource) -> None:
    """Check that the functions over the tree will not run into Python's limit of recursion."""
    level: list[ast.AST] = [source.node]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    placed = next((node for node in level if isinstance(node, ast.expr | ast.stmt)), source.node)
    raise source.error(
        placed, f"this is nested {DEEPEST} operations deep; expected less: use several statements"
    )
