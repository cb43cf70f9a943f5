"""A line of a text file with a caret below the place that a message is about."""

from __future__ import annotations

_WIDEST = 100
"""Columns of a line that are shown: what fits a terminal."""
_BEFORE = 60
"""Columns shown before the place, where a line is cut."""


def excerpt(line: str, column: int) -> str:
    """Two indented lines: what stands around a column (1-based) of a line, and a caret below it.

    A character that is not printable is shown as a question mark, a tab as itself.
    """
    start = max(0, column - 1 - _BEFORE) if len(line) > _WIDEST else 0
    shown = _printable(line[start : start + _WIDEST])
    blanks = "".join("\t" if one == "\t" else " " for one in shown[: column - 1 - start])
    return f"  {shown.rstrip()}\n  {blanks}^"


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else "?" for one in text)
