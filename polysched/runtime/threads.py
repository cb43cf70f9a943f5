"""The thread team that runs the parallel loops of this process.

:mod:`polysched.llvm.emit.regions` describes the function of a team and how kernels call it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from polysched.errors import CallError, MachineError
from polysched.integers import as_integer
from polysched.machine.detect import detect_host
from polysched.runtime.cache import default_cache
from polysched.runtime.jit import Entry, architecture, load_object, object_code
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.thread_team import PARALLEL, team_module


@dataclass(frozen=True, eq=False)
class Team:
    """Function that runs work on a team of threads, callable from machine code."""

    parallel: Callable[..., object] = field(repr=False)

    @functools.cached_property
    def address(self) -> int:
        """The address of the function; it lives as long as the team."""
        address = ctypes.cast(self.parallel, ctypes.c_void_p).value  # type: ignore[arg-type]
        assert address is not None
        return address


def current_team() -> Team:
    """The team that runs the parallel loops of this process.

    Threads do not survive a fork, so the child of a process gets a team of its own.
    """
    return _team(os.getpid())


@functools.cache
def _team(_process: int) -> Team:
    return thread_team()


def thread_team() -> Team:
    """Create a team of :mod:`polysched.runtime.thread_team`.

    Its code is never unloaded, because its threads execute it until the process ends.
    """
    native = load_object(_team_code(), Entry(PARALLEL, pointers=2, integers=2), detect_host())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(native.call))
    return Team(native.call)


@functools.cache
def _team_code() -> bytes:
    """The object code of the team, shared by this process and its forked children."""
    host = detect_host()
    if sys.platform != "linux" or architecture(host) != "x86_64":
        raise MachineError("parallel loops run on Linux on x86-64 only; leave out parallel()")
    return object_code(team_module(), PARALLEL, host, CompileOptions(), default_cache())


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
