"""Parallel regions of a thread team, and the state of its threads as Linux reports it."""

import ctypes
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from polysched.runtime.threads import Team, thread_team

LIBRARY = ctypes.CDLL(None)
"""The C library: work that holds no lock of the interpreter."""

WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
PARALLEL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32
)


def run(team: Team, work: object, count: int) -> None:
    """Have so many threads call ``work``, a Python function without arguments."""
    assert callable(work)
    function = WORK(lambda _: work())
    address = ctypes.cast(function, ctypes.c_void_p).value
    PARALLEL(team.address)(address, None, count, 0)


@dataclass(frozen=True)
class Pair:
    """A team of its caller and of one worker.

    Attributes:
        team: its function.
        thread: the thread's id, as the system has it.
    """

    team: Team
    thread: int

    def run(self, work: object, task: int = 0) -> None:
        """Have both call a function of the C library, with one number."""
        address = ctypes.cast(work, ctypes.c_void_p).value  # type: ignore[arg-type]
        PARALLEL(self.team.address)(address, task, 2, 0)

    def sleeps(self) -> None:
        """Wait until the thread sleeps; between regions it polls and yields before it sleeps."""
        end = time.monotonic() + 20
        while not self.status("State").startswith("S"):
            assert time.monotonic() < end, "the thread does not go to sleep"
            time.sleep(0.005)

    def status(self, name: str) -> str:
        """A field of the thread's status in ``/proc``."""
        lines = Path(f"/proc/self/task/{self.thread}/status").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith(f"{name}:"))

    def is_woken_by(self, work: object, task: int = 0) -> bool:
        """Whether a region wakes the sleeping thread."""
        before = self.status("voluntary_ctxt_switches")
        self.run(work, task)
        self.sleeps()
        return self.status("voluntary_ctxt_switches") != before


def started_pair(team: Team | None = None) -> Pair:
    """A team with one sleeping worker: a given team without workers, else a new team."""
    team, before = team or thread_team(), _threads()
    met = threading.Barrier(2)
    run(team, lambda: met.wait(timeout=20), 2)
    (thread,) = _threads() - before
    pair = Pair(team, thread)
    pair.sleeps()
    return pair


def _threads() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}
