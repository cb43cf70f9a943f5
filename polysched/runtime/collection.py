"""Pausing Python's collector of cyclic garbage while code is made.

A compilation makes some hundred thousand small objects that all live until it ends. The collector
goes through them again and again, and now and then through everything that the process holds, which
takes longer than most of the compilation's own parts.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Iterator[None]:
    """No collection of cyclic garbage, in all of the process, until the end of the block.

    Blocks may be inside each other, and in several threads at a time: whoever finds the collector
    at work starts it again, perhaps while another's block goes on, which then is slower. So it is
    at work after the last block if it was before the first.
    """
    was_at_work = gc.isenabled()
    if was_at_work:
        gc.disable()
    try:
        yield
    finally:
        if was_at_work:
            gc.enable()
