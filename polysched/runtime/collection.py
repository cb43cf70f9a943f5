"""Pause Python's cyclic garbage collector during compilation, and while modules are imported.

A compilation creates some hundred thousand small objects that live until it ends, and modules
create objects that live as long as the process. The collector would traverse them repeatedly, and
sometimes all objects of the process, which takes longer than most steps of the compilation.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_pausing: set[int] = set()
"""Threads that will restart the collector when their block ends."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Disable cyclic garbage collection in the whole process until the end of the block.

    Blocks may be nested and may run in several threads. A block that found the collector enabled
    enables it again at its end, even if a block of another thread goes on, which then is slower. So
    the collector is enabled after the last block if it was enabled before the first.
    """
    was_enabled = gc.isenabled()
    if was_enabled:
        _pausing.add(threading.get_ident())
        gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
            _pausing.discard(threading.get_ident())


def _end_of_others() -> None:
    """After a fork, end the blocks of the parent's other threads, which the child lacks."""
    if _pausing - {threading.get_ident()}:
        gc.enable()
    _pausing.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_of_others)
