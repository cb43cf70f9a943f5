"""The C extension ``_call_table``, if it has been built."""

from __future__ import annotations

import importlib
import os
from typing import Any

NO_EXTENSION = "POLYSCHED_NO_EXTENSION"
"""Environment variable; any value but the empty one keeps the extension from being used."""


def _loaded() -> Any:
    if os.environ.get(NO_EXTENSION):
        return None
    try:
        extension = importlib.import_module("polysched.runtime._call_table")
    except ImportError:  # it has not been built
        return None
    # One that was built from an older source takes other descriptions of calls.
    return extension if hasattr(extension, "KnownCalls") else None


EXTENSION = _loaded()
"""The module; None if calls run in Python."""

_WORKSPACE = None if EXTENSION is None else EXTENSION.workspace_functions()

WORKSPACE_FUNCTIONS: tuple[tuple[str, int], ...] = (
    () if _WORKSPACE is None else (("aligned_alloc", _WORKSPACE[0]), ("free", _WORKSPACE[1]))
)
"""Functions that allocate and free the workspaces of kernels in this process, by the names of the
C library's. They keep one block of at most 64 MiB for each thread: the system takes back the pages
of a block that is freed, and a page fault for every 4 KiB can cost more than the kernel."""
