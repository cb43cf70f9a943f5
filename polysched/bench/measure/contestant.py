"""Contestants of a race: named pieces of work that are prepared, run and checked."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy.typing as npt

from polysched.bench.measure.peers import PeerKernels
from polysched.errors import BenchError


class UnavailableError(BenchError):
    """Raised while a contestant is prepared: it cannot start here, and the text says why."""


@dataclass(frozen=True)
class Runner:
    """A prepared contestant.

    Attributes:
        run: does the whole work once, from the same input each time. Only this is timed.
        output: the result of the latest `run`, in the shape of the race's reference. Not timed.
        restore: puts the input back before each run, for work that overwrites it. Not timed.
    """

    run: Callable[[], object]
    output: Callable[[], npt.NDArray[Any]]
    restore: Callable[[], None] | None = None


@dataclass(frozen=True)
class Contestant:
    """A contestant of a race.

    Attributes:
        prepare: compiles, packs constant operands and allocates memory. It is not timed. If it
            raises `UnavailableError`, the contestant is withdrawn and the race goes on.
        kernels: finds out, after the race, which kernels of which library a peer ran. Its arguments
            are the contestant's name and the prepared `run`. None for polysched's own code.
    """

    name: str
    prepare: Callable[[], Runner]
    kernels: Callable[[str, Callable[[], object]], PeerKernels] | None = None


def warm(runner: Runner) -> Runner:
    """Call a runner once, so that a slow first call does not count in the estimate of its time."""
    if runner.restore is not None:
        runner.restore()
    runner.run()
    return runner


def returning(call: Callable[[], Any], as_array: Callable[[Any], npt.NDArray[Any]]) -> Runner:
    """A warm runner of a call that returns its result.

    The result is freed before the next call, so that the library's allocator reuses its memory.
    """
    latest: list[Any] = []

    def run() -> None:
        latest.clear()
        latest.append(call())

    return warm(Runner(run, lambda: as_array(latest[0])))


def optional_module(name: str) -> ModuleType:
    """Import a library that only the bench uses."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise UnavailableError(f"{name} cannot be loaded: {error}") from error
        raise UnavailableError(f"{name} is not installed (pip install '.[bench]')") from error
    except (ImportError, OSError) as error:
        # A shared library that is missing or made for another system.
        raise UnavailableError(f"{name} cannot be loaded: {error}") from error
