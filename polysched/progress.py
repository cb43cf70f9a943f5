"""Progress of a long computation on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

QUIET_SECONDS = 0.5
"""A computation that takes less time shows nothing: a line that flashes cannot be read."""


@contextmanager
def progress_line(title: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text after ``title`` in a line of the error output.

    The line replaces the one before and disappears at the end. Nothing is shown if the error output
    is not a terminal.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty():
        yield lambda _: None
        return
    begin = time.monotonic()
    width = 0

    def tell(text: str) -> None:
        nonlocal width
        if time.monotonic() - begin >= QUIET_SECONDS:
            line = f"{title}: {text}"
            stream.write(f"\r{line:<{width}}")
            stream.flush()
            width = max(width, len(line))

    try:
        yield tell
    finally:
        if width:
            stream.write(f"\r{'':{width}}\r")
            stream.flush()
