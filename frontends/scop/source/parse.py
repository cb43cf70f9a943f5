"""Parse C source text into a pycparser syntax tree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from pycparser import c_ast, c_parser

from polysched.errors import FrontendError
from polysched.frontends.scop.source.items import Item, items_of, needed, only, roots_of
from polysched.frontends.scop.source.pointer_types import with_pointer_types
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.source.strings import with_listed_strings
from polysched.frontends.scop.source.text import SourceText

# Typedefs of the system headers, whose text is dropped. They are put on one line before the source.
_PRELUDE = " ".join(
    f"typedef {meaning} {name};"
    for name, meaning in {
        "int8_t": "signed char",
        "int16_t": "short",
        "int32_t": "int",
        "int64_t": "long",
        "uint8_t": "unsigned char",
        "uint16_t": "unsigned short",
        "uint32_t": "unsigned int",
        "uint64_t": "unsigned long",
        "size_t": "unsigned long",
        "ssize_t": "long",
        "ptrdiff_t": "long",
        "intptr_t": "long",
        "uintptr_t": "unsigned long",
        "bool": "_Bool",
        "_Float16": "float",  # known by name where it is used
        "__fp16": "float",  # refused there
        "__bf16": "float",
        "FILE": "struct _file",
    }.items()
)
_PRELUDE_LINES = 1
DEEPEST_BRACKETS = 100
"""Largest nesting depth of brackets: the parser recurses into each bracket."""
DEEPEST_TREE = 320
"""Largest depth of the syntax tree."""
_PLACED = re.compile(r"^[^\n]*?:(\d+):(\d+): (.*)$", re.DOTALL)
_BRACKET = re.compile(r"[][(){}]")
_PRAGMA = re.compile(r"\s*#\s*pragma\s+(scop|endscop)\b")


class _Parser(c_parser.CParser):  # type: ignore[misc]  # pycparser is untyped
    """pycparser's parser; error messages without a position get that of the next token."""

    def _parse_error(self, msg: str, coord: object) -> NoReturn:
        if coord == self.clex.filename:
            token = self._peek()
            coord = coord if token is None else self._tok_coord(token)
        raise c_parser.ParseError(f"{coord}: {msg}")


@dataclass(frozen=True)
class ParsedSource:
    """Syntax tree of a C source text, with the source positions of its nodes.

    Attributes:
        tree: the tree of the top-level items that were parsed.
        skipped: the functions that were not parsed because the text after them does not need them.
        refused: the functions that cannot be parsed, each with the reason.
    """

    source: SourceText
    tree: c_ast.FileAST
    source_map: SourceMap
    skipped: frozenset[str] = frozenset()
    refused: Mapping[str, FrontendError] = field(default_factory=dict)


def parse(
    source: SourceText, function: str | None = None, *, skips_refused: bool = False
) -> ParsedSource:
    """Parse the part of a C source text that its functions need.

    Args:
        function: the function to translate; None for those with scop regions, or else for all.
        skips_refused: leave out functions that are not C as the parser knows it; `refused` holds
            the reasons.
    """
    _require_shallow(source)
    _require_closed_regions(source)
    text = "\n".join(source.lines)
    items = items_of(text)
    roots = roots_of(items, function)
    wanted = needed(items, roots) if roots else list(items)
    refused: dict[str, FrontendError] = {}
    while True:
        try:
            tree = _tree(source, only(text, wanted))
            break
        except _RefusedTextError as error:
            broken = _item_at(source, wanted, error.line)
            is_root = broken in roots
            if broken is None or not roots or (is_root and not skips_refused):
                raise error.reason from None
            if broken.function is not None:
                refused[broken.function] = error.reason
            wanted = [item for item in wanted if item is not broken]
    _require_shallow_tree(source, tree)
    named = {item.function for item in items if item.function is not None}
    parsed = {item.function for item in wanted if item.function is not None}
    shift = SourceMap(source, _PRELUDE_LINES)
    return ParsedSource(source, tree, shift, frozenset(named - parsed - set(refused)), refused)


class _RefusedTextError(Exception):
    """Text that the parser refuses, at a line (from 1) of the source; None if it is unknown."""

    def __init__(self, reason: FrontendError, line: int | None) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, line


def _tree(source: SourceText, text: str) -> c_ast.FileAST:
    try:
        tree = _Parser().parse(f"{_PRELUDE}\n{text}", source.path)
        return with_pointer_types(with_listed_strings(tree))
    except c_parser.ParseError as error:
        placed = _PLACED.match(str(error))
        line = None if placed is None else int(placed[1]) - _PRELUDE_LINES
        raise _RefusedTextError(_refused(source, str(error)), line) from None
    except (RecursionError, AssertionError, AttributeError, IndexError) as error:
        # pycparser crashes on some malformed text, without a position.
        reason = f"{source.path}: the text cannot be parsed as C ({type(error).__name__})"
        raise _RefusedTextError(FrontendError(reason), None) from None


def _item_at(source: SourceText, items: Sequence[Item], line: int | None) -> Item | None:
    """Return the item that contains a line; None if there is none."""
    if line is None:
        return None
    start = sum(len(text) + 1 for text in source.lines[: line - 1])
    end = start + len(source.lines[line - 1])
    return next((item for item in items if item.start <= end and item.end > start), None)


def _require_shallow_tree(source: SourceText, tree: c_ast.FileAST) -> None:
    """Check that recursion over the tree stays below Python's recursion limit."""
    level: list[c_ast.Node] = [tree]
    for _ in range(DEEPEST_TREE):
        level = [child for node in level for _, child in node.children()]
    placed = next((node for node in level if node.coord is not None), None)
    if placed is not None:
        line, column = placed.coord.line - _PRELUDE_LINES, max(placed.coord.column or 1, 1)
        raise source.span(line, column, column + 1).error(
            f"this is nested {DEEPEST_TREE} operations or statements deep; expected less nesting: "
            "use several statements"
        )


def _refused(source: SourceText, message: str) -> FrontendError:
    """Translate a message of the parser to an error at the position in the user's file."""
    placed = _PLACED.match(message)
    if placed is None:
        message = message.rpartition(": ")[2]
        filled = [number for number, line in enumerate(source.lines, start=1) if line.strip()]
        last = max(filled, default=1)
        column = len(source.lines[last - 1].rstrip()) + 1
        return source.span(last, column, column + 1).error(_readable(message))
    line, column, message = int(placed[1]) - _PRELUDE_LINES, int(placed[2]), placed[3]
    line = min(max(line, 1), len(source.lines))
    token = re.match(r"before: (\S+)", message)
    width = len(token[1]) if token is not None else 1
    return source.span(line, column, column + width).error(_readable(message))


def _readable(message: str) -> str:
    if message.startswith("before: "):
        return f"not C: unexpected '{message.removeprefix('before: ')}'"
    if message.startswith("At end of input"):
        return "not C: the text ends inside a function; expected a closing '}'"
    return f"not C: {message[:1].lower()}{message[1:]}"


def _require_shallow(source: SourceText) -> None:
    depth = 0
    for number, line in enumerate(source.lines, start=1):
        for match in _BRACKET.finditer(line):
            depth += 1 if match.group() in "([{" else -1
            if depth > DEEPEST_BRACKETS:
                column = match.start() + 1
                raise source.span(number, column, column + 1).error(
                    f"brackets are nested {depth} deep; expected at most {DEEPEST_BRACKETS}"
                )


def _require_closed_regions(source: SourceText) -> None:
    """Check that scop pragmas come in pairs.

    The check scans the text, because the parser may fail before it reaches a missing pragma.
    """
    opened: tuple[int, int, int] | None = None
    for number, line in enumerate(source.lines, start=1):
        match = _PRAGMA.match(line) if "scop" in line else None
        if match is None:
            continue
        here = (number, line.index("#") + 1, match.end() + 1)
        if match[1] == "scop" and opened is None:
            opened = here
        elif match[1] == "scop":
            raise source.span(*here).error("a region inside a region; expected '#pragma endscop'")
        elif opened is None:
            raise source.span(*here).error("no region is open here; expected '#pragma scop' before")
        else:
            opened = None
    if opened is not None:
        raise source.span(*opened).error(
            "this region does not end; expected '#pragma endscop' in the same block"
        )
