"""Source spans and error excerpts: the source line with carets below the span.

::

    gemm.c:12:9: subscript 'i * j' is not affine
      A[i * j] = 0;
        ^^^^^

Lines and columns count from 1. Columns count characters. An end column is exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import FrontendError
from polysched.ir.expr.source import SourceLocation
from polysched.schedule.notation.excerpt import excerpt as shown_line


@dataclass(frozen=True)
class Span:
    """Range of columns within one line of a source text.

    Attributes:
        column: the column of the first character.
        end_column: the column after the last character.
        text: the whole line, without the line break.
    """

    path: str
    line: int
    column: int
    end_column: int
    text: str

    @property
    def location(self) -> SourceLocation:
        """The location of the first character."""
        return SourceLocation(self.path, self.line, self.column)

    @property
    def source(self) -> str:
        """The characters in the span."""
        return self.text[self.column - 1 : self.end_column - 1]

    def error(self, reason: str) -> FrontendError:
        """Build an error at this span: ``path:line:column: reason``, the line and carets."""
        shown = excerpt(self.path, self.line, self.column, self.end_column, self.text)
        location, _, lines = shown.partition("\n")
        return FrontendError(f"{location}: {reason}\n{lines}", reason, self.location)


def excerpt(path: str, line: int, column: int, end_column: int, text: str) -> str:
    """Format a span as three lines: ``path:line:column``, the source line, the carets.

    Args:
        column: the first column to underline.
        end_column: the column after the last one to underline; at least one caret is shown.
        text: the whole source line. Characters that are not printable are shown as question marks,
            tabs are kept.
    """
    column = max(1, min(column, len(text) + 1))
    return f"{path}:{line}:{column}\n{shown_line(text, column, end_column - column)}"
