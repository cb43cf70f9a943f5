"""Source map: the source spans of syntax tree nodes.

pycparser records only the start of a node, and for operators not the start of the left operand.
The rest of the span is found by scanning the text.
"""

from __future__ import annotations

import bisect
import itertools
import re
from dataclasses import dataclass
from functools import cached_property

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.source.statement_text import statement_end
from polysched.frontends.scop.source.text import SourceText
from polysched.frontends.scop.source.trees import StandIn
from polysched.frontends.source_text import Span
from polysched.ir.expr.source import SourceLocation

_TOKEN = re.compile(r"\w[\w.]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|.", re.DOTALL)
_NUMBER = re.compile(r"(?:0[xX][\da-fA-F.]+(?:[pP][+-]?\d+)?|[\d.]+(?:[eE][+-]?\d+)?)\w*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_OPENING = {closing: opening for opening, closing in _CLOSING.items()}


@dataclass(frozen=True)
class SourceMap:
    """Map from the nodes of a syntax tree to source spans, and errors at nodes.

    Args:
        source: the text that was parsed.
        shift: number of lines that were put before the text for the parser.
    """

    source: SourceText
    shift: int

    def span(self, node: c_ast.Node) -> Span:
        """Return the span of a node in the user's file, cut at the end of its first line."""
        begin, end = self._extent(node)
        line = bisect.bisect_right(self._starts, begin) - 1
        column = begin - self._starts[line] + 1
        end_column = min(end - self._starts[line], len(self.source.lines[line])) + 1
        return self.source.span(line + 1, column, max(end_column, column + 1))

    def location(self, node: c_ast.Node) -> SourceLocation:
        """Return the start of a node."""
        return self.span(node).location

    def error(self, node: c_ast.Node, reason: str) -> FrontendError:
        """Build an error that underlines a node."""
        return self.span(node).error(reason)

    def statement(self, node: c_ast.Node) -> tuple[Span, Span] | None:
        """Return the spans of the first and the last character of a statement.

        None if its end is not found.
        """
        begin = _Finder(self._text, self._starts, self.shift).offset(node)
        end = statement_end(self._text, begin)
        return None if end is None else (self._character(begin), self._character(end - 1))

    def _character(self, offset: int) -> Span:
        line = bisect.bisect_right(self._starts, offset) - 1
        column = offset - self._starts[line] + 1
        return self.source.character(line + 1, column)

    def text(self, node: c_ast.Node) -> str:
        """Return the source text of a node for messages, with white space collapsed."""
        begin, end = self._extent(node)
        return " ".join(self._text[begin:end].split())

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.source.lines)

    @cached_property
    def _starts(self) -> list[int]:
        lengths = (len(line) + 1 for line in self.source.lines[:-1])
        return list(itertools.accumulate(lengths, initial=0))

    def _extent(self, node: c_ast.Node) -> tuple[int, int]:
        finder = _Finder(self._text, self._starts, self.shift)
        return finder.balanced(finder.left(node), finder.right(node))


@dataclass(frozen=True)
class _Finder:
    """Finds the first and last character of nodes, as offsets in the text."""

    text: str
    starts: list[int]
    shift: int

    def left(self, node: c_ast.Node) -> int:
        match node:
            case StandIn(source=source):
                return self.left(source)
            case (
                c_ast.BinaryOp(left=first)
                | c_ast.TernaryOp(cond=first)
                | c_ast.ArrayRef(name=first)
                | c_ast.FuncCall(name=first)
                | c_ast.StructRef(name=first)
                | c_ast.Assignment(lvalue=first)
                | c_ast.UnaryOp(op="p++" | "p--", expr=first)
                | c_ast.ExprList(exprs=[first, *_])
            ):
                return self.left(first)
            case c_ast.UnaryOp(op="sizeof"):
                return self.offset(node)
            case c_ast.UnaryOp(op=operator, expr=operand):
                return max(self.text.rfind(operator, 0, self.left(operand)), 0)
        return self.offset(node)

    def right(self, node: c_ast.Node) -> int:
        match node:
            case (
                c_ast.BinaryOp(right=last)
                | c_ast.TernaryOp(iffalse=last)
                | c_ast.Assignment(rvalue=last)
                | c_ast.Cast(expr=last)
                | StandIn(source=last)
                | c_ast.StructRef(field=last)
                | c_ast.ExprList(exprs=[*_, last])
                | c_ast.ArrayDecl(dim=c_ast.Node() as last)
            ):
                return self.right(last)
            case c_ast.UnaryOp(op="p++" | "p--", expr=operand):
                return self.text.find(node.op[1:], self.right(operand)) + 2
            case c_ast.UnaryOp(op="sizeof"):
                return self.closed(self.offset(node))
            case c_ast.UnaryOp(expr=operand):
                return self.right(operand)
            case c_ast.ArrayRef(name=first) if not self._is_subscripted(self.right(first)):
                return self.right(first)  # *p, which has been rewritten
            case c_ast.ArrayRef(name=first) | c_ast.FuncCall(name=first):
                return self.closed(self.right(first))
            case c_ast.ExprList(exprs=[*_, last]):
                return self.right(last)
            case c_ast.Pragma(string=str(text)):
                return self.offset(node) + len(text)
            case c_ast.ArrayDecl(dim=c_ast.Node() as last):
                return self.right(last)
        return self.token_end(self.offset(node))

    def _is_subscripted(self, end: int) -> bool:
        """Whether a bracket opens after a name that ends at an offset."""
        return self.text[end : end + 80].lstrip(" \t\n)")[:1] == "["

    def offset(self, node: c_ast.Node) -> int:
        """Return the parser's position of a node; without one, that of its first child."""
        coordinate = node.coord
        if coordinate is None:
            children = [child for _, child in node.children()]
            return min(map(self.offset, children), default=0)
        line = min(max(coordinate.line - self.shift - 1, 0), len(self.starts) - 1)
        return int(self.starts[line] + max((coordinate.column or 1) - 1, 0))

    def token_end(self, start: int) -> int:
        match = _NUMBER.match(self.text, start) if self.text[start : start + 1].isdigit() else None
        match = match or _TOKEN.match(self.text, start)
        return start if match is None else match.end()

    def closed(self, start: int) -> int:
        """Return the offset after the bracket that closes the first bracket at or after `start`."""
        openings = [self.text.find(bracket, start) for bracket in "(["]
        opening = min((offset for offset in openings if offset >= 0), default=-1)
        if opening < 0:
            return start
        _, end = self.balanced(opening, opening + 1)
        return end

    def balanced(self, begin: int, end: int) -> tuple[int, int]:
        """Extend a range of the text until the brackets in it are balanced."""
        pending: list[str] = []
        missing: list[str] = []
        for character in self.text[begin:end]:
            if character in _CLOSING:
                pending.append(_CLOSING[character])
            elif character in _OPENING:
                if pending and pending[-1] == character:
                    pending.pop()
                else:
                    missing.append(_OPENING[character])
        while pending and end < len(self.text):
            character = self.text[end]
            end += 1
            if character in _CLOSING:
                pending.append(_CLOSING[character])
            elif character == pending[-1]:
                pending.pop()
        for opening in missing:
            begin = self._opened(begin, opening)
        return begin, end

    def _opened(self, begin: int, opening: str) -> int:
        depth = 1
        position = begin
        while depth and position > 0:
            position -= 1
            depth += {opening: -1, _CLOSING[opening]: 1}.get(self.text[position], 0)
        return position
