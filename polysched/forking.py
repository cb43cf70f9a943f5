"""Forks of a process whose other threads are at work.

Only the thread that forks lives on in the child. A lock that another thread holds at that moment
stays locked there for ever, and what the lock guards stays half done. So a fork waits until the
locks given to `hold_while_forking` are free, holds them, and lets go of them in both processes.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from enum import IntEnum
from functools import cached_property
from typing import Any


class Rank(IntEnum):
    """The order in which a fork takes locks. A thread that holds one waits for later ones only."""

    ISL = 0
    LLVM = 1


_held: dict[Rank, AbstractContextManager[Any]] = {}


def hold_while_forking(rank: Rank, lock: AbstractContextManager[Any]) -> None:
    """Let each fork of this process from now on hold a lock.

    The lock must be reentrant: the thread that forks may hold it already.
    """
    _held[rank] = lock


def _take() -> None:
    for rank in sorted(_held):
        _held[rank].__enter__()


def _let_go() -> None:
    for rank in sorted(_held, reverse=True):
        _held[rank].__exit__(None, None, None)


def _renew_locks_of_properties() -> None:
    """In the child: free the locks of cached properties that other threads were computing.

    Until Python 3.12 each cached property has a lock. It guards nothing but repeated work.
    """
    modules = [module for name, module in sys.modules.items() if name.startswith("polysched")]
    for module in modules:
        for value in list(vars(module).values()):
            for attribute in list(vars(value).values()) if isinstance(value, type) else ():
                if isinstance(attribute, cached_property):
                    lock: Any = getattr(attribute, "lock", None)
                    if lock is not None and not lock._is_owned():
                        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take, after_in_parent=_let_go, after_in_child=_let_go)
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_renew_locks_of_properties)
