"""Compile specialized code in the background, in one thread of low priority."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections import deque
from collections.abc import Callable

_LOWEST_PRIORITY = 19
"""The niceness of the thread: it runs where no other thread wants the core (``man 2 nice``)."""


class Specializer:
    """Runs functions one after the other in a thread of its own, each once for its kind.

    The thread ends when nothing is left to do. The end of the process waits for the function that
    runs, and drops the others: a thread inside isl or LLVM must not be stopped. The child of a fork
    starts anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[tuple[object, Callable[[], object]]] = deque()
        self._done: set[object] = set()
        self._submitted: set[object] = set()
        self._thread: threading.Thread | None = None
        self._is_ending = False
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def submit(self, kind: object, make: Callable[[], object]) -> None:
        """Have ``make`` called, once for its kind.

        From then on :meth:`is_done` is true, even if it raised an error. Whoever wants the code
        then makes it at once, and gets the error.
        """
        with self._lock:
            if self._is_ending or kind in self._submitted:
                return
            self._submitted.add(kind)
            self._waiting.append((kind, make))
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="polysched specializer", daemon=True
                )
                self._thread.start()

    def is_done(self, kind: object) -> bool:
        """Whether the code of a kind has been compiled."""
        return kind in self._done

    def wait(self) -> None:
        """Wait until all functions have run."""
        while (thread := self._thread) is not None:
            thread.join()

    def close(self) -> None:
        """Drop the queued functions, and wait for the function that runs."""
        with self._lock:
            self._is_ending = True
            self._waiting.clear()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _work(self) -> None:
        with contextlib.suppress(AttributeError, OSError):  # a priority per thread is Linux's
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                kind, make = self._waiting.popleft()
            with contextlib.suppress(Exception):
                make()
            self._done.add(kind)

    def _forget(self) -> None:
        """In the child of a fork: the thread is gone, and its lock may be held."""
        self._lock = threading.Lock()
        self._submitted -= {kind for kind, _ in self._waiting}
        self._waiting.clear()
        self._thread = None
