"""Source locations of declarations in the user's files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE_FOLDER = f"{Path(__file__).resolve().parents[2]}{os.sep}"


@dataclass(frozen=True)
class SourceLocation:
    """A file, a 1-based line, and a 1-based column if it is known."""

    file: str
    line: int
    column: int | None = None

    def __str__(self) -> str:
        column = "" if self.column is None else f":{self.column}"
        return f"{self.file}:{self.line}{column}"


def caller_location(*folders: str) -> SourceLocation | None:
    """Find the user's line: the innermost frame of the call stack outside polysched.

    Args:
        folders: more folders to skip, each with a trailing separator.
    """
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE_FOLDER, *folders)):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return SourceLocation(frame.f_code.co_filename, frame.f_lineno)
