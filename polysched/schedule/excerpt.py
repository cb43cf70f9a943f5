"""A line of a text file with a caret below the place that a message is about."""

from __future__ import annotations

_WIDEST = 100
"""Columns of a line that are shown: what fits a terminal."""
_BEFORE = 60
"""Columns shown before the place, where a line is cut."""


def excerpt(line: str, column: int, width: int = 1) -> str:
    """Two indented lines: what stands around a column (1-based) of a line, and carets below it.

    A character that is not printable is shown as a question mark, a tab as itself. There are
    ``width`` carets, but none behind the line's end except the first.
    """
    start = max(0, column - 1 - _BEFORE) if len(line) > _WIDEST else 0
    shown = _printable(line[start : start + _WIDEST])
    before = shown[: column - 1 - start]
    blanks = "".join("\t" if one == "\t" else " " for one in before)
    carets = "^" * max(1, min(width, len(shown.rstrip()) - len(before)))
    return f"  {shown.rstrip()}\n  {blanks}{carets}"


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in text)
