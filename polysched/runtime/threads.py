"""Teams of threads for parallel loops: our own, else an OpenMP runtime's, else Python's threads.

The function of a team, and what compiled kernels do with it, are described in
:mod:`polysched.codegen.regions`.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polysched.codegen.regions import TEAM
from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.machine.detect import detect_host
from polysched.runtime.jit import Entry, architecture, emit_object, load_object
from polysched.runtime.own_team import PARALLEL as OWN_PARALLEL
from polysched.runtime.own_team import team_module
from polysched.runtime.team_waiting import FUTEX_CALLS

OPENMP_RUNTIMES = ("libgomp", "libomp", "libiomp5")

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PARALLEL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32
)


@dataclass(frozen=True, eq=False)
class Team:
    """The function that has a team of threads run, where machine code finds it.

    Attributes:
        name: the library that runs the threads.
        parallel: the function.
    """

    name: str
    parallel: Any = field(repr=False)

    @functools.cached_property
    def address(self) -> int:
        """The address of the function; it lives as long as the team."""
        address = ctypes.cast(self.parallel, ctypes.c_void_p).value
        assert address is not None
        return address


def current_team() -> Team:
    """The team that parallel loops of this process run on.

    Threads do not survive a fork: the child of a process has a team of its own. Where there is no
    team of ours, it runs on Python's threads, for libgomp would wait for its lost ones for ever.
    """
    return _team(os.getpid())


@functools.cache
def _team(process: int) -> Team:
    is_first = process == _first_process()
    return own_team() or (openmp_team() if is_first else None) or python_team()


@functools.cache
def _first_process() -> int:
    """The process that asked for a team first; its children inherit the answer."""
    return os.getpid()


def own_team() -> Team | None:
    """A new team of :mod:`polysched.runtime.own_team`; None on systems that it is not for.

    Its code is never unloaded: its threads are in there until the process ends.
    """
    host = detect_host()
    if sys.platform != "linux" or architecture(host) not in FUTEX_CALLS:
        return None
    native = load_object(_own_code(), Entry(OWN_PARALLEL, pointers=2, integers=2), host)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native.call))
    return Team("threads of polysched", native.call)


@functools.cache
def _own_code() -> bytes:
    """The object code of our team; that of children of this process too."""
    host = detect_host()
    return emit_object(team_module(architecture(host)), OWN_PARALLEL, host)


def openmp_team() -> Team | None:
    """The first OpenMP runtime that can be loaded: the system's, else one that a package of this
    process has brought along.

    The system's comes first for it can be told to let its threads sleep. Two pools of threads that
    wait by spinning would fight for the cores.
    """
    for path in (*_installed_runtimes(), *_loaded_runtimes(Path("/proc/self/maps"))):
        try:
            with _sleeping_early():
                library = ctypes.CDLL(path)
            return Team(path, getattr(library, TEAM))
        except (OSError, AttributeError):  # no library, or one of another kind
            continue
    return None


SPINS = "100"
"""How often a thread of libgomp looks for work, or for the others, before it sleeps: some 2
microseconds. Waking it costs ten to sixty, and it is woken on a core that is free."""


@contextlib.contextmanager
def _sleeping_early() -> Iterator[None]:
    """Where a libgomp that is loaded inside learns how long to spin, unless the user has said so.

    By itself it spins for some 5 ms. If the system has put two threads of a team on one core, which
    happens whenever the other one was busy or asleep, the one spins for so long while the other
    waits for the core; and the threads of other libraries wait too. Medium lengths are the worst:
    too short for the system to move a thread, too long to be woken elsewhere.
    """
    if any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")):
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = SPINS
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


def _loaded_runtimes(maps: Path) -> Iterator[str]:
    try:
        lines = maps.read_text(errors="replace").splitlines()
    except OSError:
        return
    paths = dict.fromkeys(line[line.index("/") :] for line in lines if "/" in line)
    for path in paths:
        # libgomp.so.1 as well as the libgomp-a34b3233.so.1 that a wheel brings along
        if Path(path).name.startswith(OPENMP_RUNTIMES) and ".so" in Path(path).name:
            yield path


def _installed_runtimes() -> Iterator[str]:
    for name in OPENMP_RUNTIMES:
        found = ctypes.util.find_library(name.removeprefix("lib"))
        if found is not None:
            yield found


def python_team() -> Team:
    """Threads of Python, started for each parallel loop; slow to start, the same results.

    A thread that cannot be started leaves its part to the calling thread.
    """

    def parallel(address: int, task: int, count: int, flags: int) -> None:
        del flags
        work: Callable[[], None] = functools.partial(_WORK(address), task)
        started, left = _started([work] * (count - 1))
        for part in (work, *left):
            part()
        for thread in started:
            thread.join()

    return Team("Python threads", _PARALLEL(parallel))


def _started(
    parts: list[Callable[[], None]],
) -> tuple[list[threading.Thread], list[Callable[[], None]]]:
    """Threads for as many parts as can have one, and the parts that are left."""
    threads: list[threading.Thread] = []
    for position, part in enumerate(parts):
        thread = threading.Thread(target=part)
        try:
            thread.start()
        except RuntimeError:  # the system grants no more threads
            return threads, parts[position:]
        threads.append(thread)
    return threads, []


class RunningCalls:
    """Counts the calls of kernels that run in this moment: ``with running as count``.

    ``words`` are two 64-bit integers: the calls that are counted here, and those that machine code
    counts (:mod:`polysched.runtime.door`), which holds the GIL meanwhile.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.words = (ctypes.c_int64 * 2)()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def __enter__(self) -> int:
        with self._lock:
            self.words[0] += 1
            return sum(self.words)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.words[0] -= 1

    def _forget(self) -> None:
        """In the child of a process: the calls run in threads that it does not have."""
        self._lock = threading.Lock()
        self.words[:] = [0, 0]


@functools.cache
def running_calls() -> RunningCalls:
    """The calls that run in this process: they share its cores."""
    return RunningCalls()


def number_of_threads(who: str, given: object) -> int:
    """The number that a caller gives as ``threads=``: 1.0 and True are none, though they equal 1.

    Args:
        who: the one that is called, for messages.

    Raises:
        CallError: it is no positive integer.
    """
    number = as_integer(given)
    if number is None or number < 1:
        raise CallError(f"{who}: threads={given!r}; expected an integer >= 1")
    return number


def usable_threads() -> int:
    """As many threads as this process may keep busy now: physical cores within its affinity mask
    and its control group's quota.
    """
    cores = detect_host().cores_usable
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(cores, len(os.sched_getaffinity(0))))
    return cores
