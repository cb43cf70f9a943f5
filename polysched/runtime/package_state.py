"""The state of this package's files, as part of the keys of results on disk."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from polysched.runtime.cache import cache_key


@cache
def package_state() -> str:
    """A digest of the sizes and times of the package's files, which Python's own caches use too.

    Results on disk must not survive a change of the code that made them.
    """
    root = Path(__file__).parents[1]
    return cache_key(*sorted(_states(str(root))))


def _states(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _states(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
