"""Source excerpts for messages: a line of text with carets below a column."""

from __future__ import annotations

_WIDEST = 100
"""Largest number of columns shown of a line, to fit a terminal."""
_BEFORE = 60
"""Number of columns shown before the caret if a line is cut."""


def excerpt(line: str, column: int, width: int = 1) -> str:
    """Return two indented lines: the text around a column (1-based) of a line, and carets below it.

    A character that is not printable is shown as a question mark, a tab as a tab. There are
    ``width`` carets, but only the first may be beyond the end of the line.
    """
    start = max(0, column - 1 - _BEFORE) if len(line) > _WIDEST else 0
    shown = _printable(line[start : start + _WIDEST])
    before = shown[: column - 1 - start]
    blanks = "".join("\t" if character == "\t" else " " for character in before)
    carets = "^" * max(1, min(width, len(shown.rstrip()) - len(before)))
    return f"  {shown.rstrip()}\n  {blanks}{carets}"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() or char == "\t" else "?" for char in text)
