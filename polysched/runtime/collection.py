"""Pausing Python's collector of cyclic garbage while code is made.

A compilation makes some hundred thousand small objects that all live until it ends. The collector
goes through them again and again, and now and then through everything that the process holds, which
takes longer than most of the compilation's own parts.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_pausing: set[int] = set()
"""The threads that start the collector again when their block ends."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection of cyclic garbage, in all of the process, until the end of the block.

    Blocks may be inside each other, and in several threads at a time: whoever finds the collector
    at work starts it again, perhaps while another's block goes on, which then is slower. So it is
    at work after the last block if it was before the first.
    """
    was_at_work = gc.isenabled()
    if was_at_work:
        _pausing.add(threading.get_ident())
        gc.disable()
    try:
        yield
    finally:
        if was_at_work:
            gc.enable()
            _pausing.discard(threading.get_ident())


def _end_of_others() -> None:
    """In the child of a process: the blocks of other threads do not end, so they end here."""
    if _pausing - {threading.get_ident()}:
        gc.enable()
    _pausing.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_of_others)
