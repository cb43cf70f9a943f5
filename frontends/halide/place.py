"""Source location of the user's call into this package."""

from __future__ import annotations

import os
from pathlib import Path

from polysched.ir.expr.source import SourceLocation, caller_location

_FOLDER = f"{Path(__file__).resolve().parent}{os.sep}"


def user_location() -> SourceLocation | None:
    """The innermost line on the call stack outside of this package."""
    return caller_location(_FOLDER)
