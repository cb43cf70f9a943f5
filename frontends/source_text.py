"""A place in a source text and how an error shows it: message, source line, caret.

::

    gemm.c:12:9: subscript 'i * j' is not affine
      A[i * j] = 0;
        ^^^^^

Lines and columns count from 1, columns in characters; an end column is the first one behind.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import FrontendError
from polysched.ir.source import SourceLocation
from polysched.schedule.excerpt import excerpt as shown_line


@dataclass(frozen=True)
class Span:
    """A stretch of one line of a source text.

    Attributes:
        path: the file, as messages name it.
        line: the line's number.
        column: the first character's column.
        end_column: the column behind the last character.
        text: the whole line, without its end.
    """

    path: str
    line: int
    column: int
    end_column: int
    text: str

    @property
    def location(self) -> SourceLocation:
        """Where it begins."""
        return SourceLocation(self.path, self.line, self.column)

    @property
    def source(self) -> str:
        """The characters that it covers."""
        return self.text[self.column - 1 : self.end_column - 1]

    def error(self, reason: str) -> FrontendError:
        """The error that points here: the place, the reason, the line and the carets."""
        shown = excerpt(self.path, self.line, self.column, self.end_column, self.text)
        place, _, lines = shown.partition("\n")
        return FrontendError(f"{place}: {reason}\n{lines}", reason, self.location)


def excerpt(path: str, line: int, column: int, end_column: int, text: str) -> str:
    """Three lines: the place, the line of the source, carets below the columns meant.

    Args:
        path: the file, as messages name it.
        line: the line's number.
        column: the first column to underline.
        end_column: the first column behind; one caret is there at least.
        text: the whole line of the source. A character that is not printable is shown as a question
            mark, a tab as itself.
    """
    column = max(1, min(column, len(text) + 1))
    return f"{path}:{line}:{column}\n{shown_line(text, column, end_column - column)}"
