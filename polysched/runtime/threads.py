"""Thread teams of parallel loops: polysched's threads, an OpenMP runtime, or Python's threads.

:mod:`polysched.llvm.emit.regions` describes the function of a team and how kernels call it.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.llvm.team_function import TEAM
from polysched.machine.detect import detect_host
from polysched.runtime.cache import default_cache
from polysched.runtime.jit import Entry, architecture, load_object, object_code
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.team_sleep import FUTEX_CALLS
from polysched.runtime.thread_team import PARALLEL, team_module

OPENMP_RUNTIMES = ("libgomp", "libomp", "libiomp5")

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PARALLEL = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32
)


@dataclass(frozen=True, eq=False)
class Team:
    """Function that runs work on a team of threads, callable from machine code.

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
    """The team that runs the parallel loops of this process.

    Threads do not survive a fork, so the child of a process gets a team of its own. On systems
    without :func:`thread_team` the child uses Python's threads, because libgomp would wait forever
    for the threads that it lost.
    """
    return _team(os.getpid())


@functools.cache
def _team(process: int) -> Team:
    is_first = process == _first_process()
    return thread_team() or (openmp_team() if is_first else None) or python_team()


@functools.cache
def _first_process() -> int:
    """The first process that used a team; its forked children inherit the cached value."""
    return os.getpid()


def thread_team() -> Team | None:
    """Create a team of :mod:`polysched.runtime.thread_team`; None where it is not supported.

    Its code is never unloaded, because its threads execute it until the process ends.
    """
    host = detect_host()
    if sys.platform != "linux" or architecture(host) not in FUTEX_CALLS:
        return None
    native = load_object(_team_code(), Entry(PARALLEL, pointers=2, integers=2), host)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native.call))
    return Team("threads of polysched", native.call)


@functools.cache
def _team_code() -> bytes:
    """The object code of the team, shared by this process and its forked children."""
    host = detect_host()
    text = team_module(architecture(host))
    return object_code(text, PARALLEL, host, CompileOptions(), default_cache())


def openmp_team() -> Team | None:
    """The first OpenMP runtime that can be loaded; None if there is none.

    The system's runtime is preferred to one that a Python package has loaded, because it can still
    be configured to let its threads sleep. Two pools of threads that wait by spinning would compete
    for the cores.
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
"""Polls of a libgomp thread before it sleeps, about 2 microseconds.

Waking a thread takes 10 to 60 microseconds, and the system wakes it on a free core.
"""


@contextlib.contextmanager
def _sleeping_early() -> Iterator[None]:
    """Limit the spinning of a libgomp that is loaded in the block, unless the user has set it.

    By default libgomp spins for some 5 ms. If the system has put two threads of a team on one
    core, because the other core was busy or idle, one thread spins for that time while the other
    waits for the core. Threads of other libraries wait too. Times in between are worst: too short
    for the system to move a thread, too long for the thread to sleep and be woken on another core.
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
        library = ctypes.util.find_library(name.removeprefix("lib"))
        if library is not None:
            yield library


def python_team() -> Team:
    """Python threads, started for each parallel loop: slower to start, with the same results.

    If a thread cannot be started, the calling thread does its part.
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
    """Start a thread for each part; returns the threads and the parts without one."""
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
    """Count of the kernel calls that run at this moment: ``with running_calls() as count``."""

    def __init__(self) -> None:
        # Appending to a list and removing from it are atomic, so no lock is needed.
        self._calls: list[None] = []
        if hasattr(os, "register_at_fork"):
            # The calls run in threads that the child of a process does not have.
            os.register_at_fork(after_in_child=self._calls.clear)

    def __len__(self) -> int:
        return len(self._calls)

    def __enter__(self) -> int:
        self._calls.append(None)
        return len(self._calls)

    def __exit__(self, *_: object) -> None:
        if self._calls:  # not in a child that was forked within the block
            self._calls.pop()


@functools.cache
def running_calls() -> RunningCalls:
    """The calls that run in this process: they share its cores."""
    return RunningCalls()


def run_on_team(
    code: Callable[..., int],
    addresses: Sequence[int],
    parameters: Sequence[int],
    threads: int | None,
) -> int:
    """Run the machine code of a threaded kernel on the team of this process.

    Args:
        code: takes the arrays' addresses, the team's, the parameters and the number of threads.
        addresses: of the arrays.
        parameters: their values.
        threads: None for this call's share of the usable cores.

    Returns:
        the status: 0, or 1 if there was no memory for the workspace.
    """
    with running_calls() as calls:
        number = threads or max(1, usable_threads() // calls)
        return code(*addresses, current_team().address, *parameters, number)


def number_of_threads(who: str, given: object) -> int:
    """Check the value of ``threads=``. 1.0 and True are errors although they equal 1.

    Args:
        who: the called function or kernel, for messages.
        given: the value.

    Raises:
        CallError: the value is not a positive integer.
    """
    number = as_integer(given)
    if number is None or number < 1:
        raise CallError(f"{who}: threads={given!r}; expected an integer >= 1")
    return number


def usable_threads() -> int:
    """The number of threads that this process may keep busy now.

    These are the physical cores within its current affinity mask and its control group's quota.
    """
    cores = detect_host().cores_usable
    if hasattr(os, "sched_getaffinity"):
        return max(1, min(cores, len(os.sched_getaffinity(0))))
    return cores
