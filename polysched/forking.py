"""Fork safety: acquire polysched's global locks before ``fork`` and release them afterwards.

Only the forking thread survives in the child. If another thread holds a lock at the fork, the lock
stays locked forever in the child, and the data that it guards may be inconsistent. Therefore a fork
first acquires all locks registered with `hold_while_forking`, and then both processes release them.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from enum import IntEnum
from functools import cached_property
from typing import Any


class Rank(IntEnum):
    """The order in which a fork acquires locks.

    To avoid deadlocks, a thread that holds a lock may wait only for locks of a higher rank.
    """

    ISL = 0
    LLVM = 1


_locks: dict[Rank, AbstractContextManager[Any]] = {}


def hold_while_forking(rank: Rank, lock: AbstractContextManager[Any]) -> None:
    """Register a lock that every later fork of this process holds.

    The lock must be reentrant, because the forking thread may already hold it.
    """
    _locks[rank] = lock


def _acquire_all() -> None:
    for rank in sorted(_locks):
        _locks[rank].__enter__()


def _release_all() -> None:
    for rank in sorted(_locks, reverse=True):
        _locks[rank].__exit__(None, None, None)


def _reset_cached_property_locks() -> None:
    """In the child, reset the locks of cached properties that other threads were computing.

    Before Python 3.12 each cached property has a lock. It only prevents duplicate work, so
    resetting it is safe.
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
    os.register_at_fork(
        before=_acquire_all, after_in_parent=_release_all, after_in_child=_release_all
    )
    if sys.version_info < (3, 12):
        os.register_at_fork(after_in_child=_reset_cached_property_locks)
