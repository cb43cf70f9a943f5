"""Where in the user's text a thing was written."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE_FOLDER = f"{Path(__file__).resolve().parents[1]}{os.sep}"


@dataclass(frozen=True)
class SourceLocation:
    """A file and a line (1-based), and a column (1-based) where one is known."""

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        column = "" if self.column is None else f":{self.column}"
        return f"{self.file}:{self.line}{column}"


def caller_location(*folders: str) -> SourceLocation | None:
    """The innermost line on the call stack outside polysched: the user's line.

    Args:
        folders: further ones, each with a separator at the end, in which no user's line is.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE_FOLDER, *folders)):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
