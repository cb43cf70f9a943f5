"""Races of the gallery's programs: polysched's schedules beside C compilers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.autoscheduler.driver import optimize_schedule
from polysched.bench.c_programs.code import (
    CCompiler,
    Program,
    compiled_by,
    compiled_by_polysched,
    compiler_kernels,
)
from polysched.bench.c_programs.works import Make, uniform
from polysched.bench.measure.contestant import Contestant, Runner, UnavailableError
from polysched.bench.measure.race import Result
from polysched.bench.measure.speedup import OWN, Speedup
from polysched.ir.core.kernel import Array, Role
from polysched.ir.semantics.memory import concrete_shape
from polysched.llvm.export.c_function import CFunction
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.runtime.memory import aligned_zeros
from polysched.schedule.schedule import Schedule

PLAIN = "unscheduled"
AUTO = "auto"
THREADED = "auto_on_threads"
"""The autoscheduler's schedule for several threads; its name is also that of a library."""
ONE_THREAD = "auto on one thread"
"""What the schedule for several threads is compared with."""
TOLERANCES = {4: 1e-4, 8: 1e-9}
"""Tolerance relative to an array's largest magnitude, by its type's bytes; integers are exact."""
_NUMBER = 1.25
"""Value of the floating-point scalars without an entry."""
LARGEST_INTEGER = 99
"""Integers without an entry are drawn from 0 to this number, which all types hold."""


@dataclass(frozen=True)
class Calls:
    """The arguments of a program's calls, with the initial contents that each run needs.

    All contestants get the same memory, so that none is lucky with its addresses.

    Attributes:
        program: the program.
        sizes: the values of its parameters, by name.
        arrays: its array arguments, by name.
        originals: initial contents of the arrays that a run both reads and changes.
        written: names of the arrays that hold results.
    """

    program: Program
    sizes: Mapping[str, int]
    arrays: Mapping[str, npt.NDArray[Any]]
    originals: Mapping[str, npt.NDArray[Any]]
    written: tuple[str, ...]

    def restore(self) -> None:
        """Restore the arguments that a run has changed."""
        for name, original in self.originals.items():
            np.copyto(self.arrays[name], original)

    def forget(self) -> None:
        """Overwrite the results, so that stale results fail the comparison."""
        for name in self.written:
            array = self.arrays[name]
            array.fill(math.nan if array.dtype.kind == "f" else 0)
        self.restore()

    def results(self, library: ctypes.CDLL) -> dict[str, npt.NDArray[Any]]:
        """Call once and copy the results."""
        self.forget()
        self.call(library)()
        return {name: self.arrays[name].copy() for name in self.written}

    def call(self, library: ctypes.CDLL) -> partial[Any]:
        """Bind the function of a library to the arguments."""
        function = self.program.function
        arguments = [
            self._argument(function, position) for position in range(len(function.arguments))
        ]
        entry = library[function.name]
        entry.restype = None
        return partial(entry, *arguments)

    def _argument(self, function: CFunction, position: int) -> Any:
        argument = function.arguments[position]
        if argument.is_pointer or argument.dtype is None:
            meaning = argument.meaning
            return ctypes.c_void_p(None if meaning is None else self.arrays[meaning].ctypes.data)
        if argument.meaning is None:
            value = 0
        elif argument.is_size:
            value = self.sizes[argument.name]
        else:
            value = self.arrays[argument.meaning].item()
        # numpy's stubs want to know which type it is.
        passed: Any = np.ctypeslib.as_ctypes_type(argument.dtype.numpy())  # type: ignore[arg-type]
        return passed(value)


def prepared_calls(program: Program, sizes: Mapping[str, int], inputs: Mapping[str, Make]) -> Calls:
    """Allocate and fill the arguments of a program.

    Args:
        sizes: a value for each parameter of its kernel.
        inputs: contents of the arrays that are not drawn from [-1, 1), by name.
    """
    generator = np.random.default_rng(0)
    outside = [a for a in program.kernel.arrays.values() if a.role is not Role.TEMPORARY]
    arrays = {array.name: _filled(array, sizes, inputs, generator) for array in outside}
    changed = [array.name for array in outside if array.role is Role.INOUT]
    return Calls(
        program,
        sizes,
        arrays,
        {name: arrays[name].copy() for name in changed},
        tuple(array.name for array in outside if array.role in (Role.INOUT, Role.OUTPUT)),
    )


def _filled(
    array: Array,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Make],
    generator: np.random.Generator,
) -> npt.NDArray[Any]:
    shape = concrete_shape(array.shape, sizes)
    filled = aligned_zeros(shape, array.dtype.numpy())
    make = inputs.get(array.name)
    if make is not None:
        filled[...] = make(generator, shape)
    elif array.dtype.is_integer:
        filled[...] = generator.integers(0, LARGEST_INTEGER, shape, endpoint=True)
    else:
        filled[...] = uniform(generator, shape) if shape else _NUMBER
    return filled


@dataclass(frozen=True)
class Expected:
    """The right results by name; a contestant's are compared with them array by array."""

    arrays: Mapping[str, npt.NDArray[Any]]

    @property
    def tolerance(self) -> float:
        """The largest accepted difference of comparable results from the reference."""
        kinds = [array.dtype for array in self.arrays.values()]
        return max(
            (TOLERANCES[dtype.itemsize] for dtype in kinds if dtype.kind == "f"), default=0.0
        )

    def comparable(self, arrays: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Results in a row, floating-point ones as parts of the largest one in their array."""
        parts = [arrays[name].ravel() / self._unit(name) for name in self.arrays]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _unit(self, name: str) -> float:
        array = self.arrays[name]
        if array.dtype.kind != "f":
            return 1.0
        return float(np.abs(array[np.isfinite(array)]).max(initial=0)) or 1.0


def expected_results(calls: Calls, folder: Path) -> Expected:
    """Run the unscheduled program, without FMA contraction, in the order of the source.

    Args:
        folder: the folder for the compiled code.
    """
    program = calls.program
    plain = compiled_by_polysched(Schedule(program.kernel), program.function, folder, "reference")
    return Expected(calls.results(plain))


def contestants(
    calls: Calls,
    expected: Expected,
    compilers: Sequence[CCompiler],
    folder: Path,
    machine: Machine | None = None,
    *,
    threads: int | None = None,
) -> tuple[Contestant, ...]:
    """polysched with and without the schedule, and the C compilers.

    Args:
        calls: what is called.
        expected: the right results.
        compilers: those of C.
        folder: for the code that each makes.
        machine: what polysched compiles for; None for this one.
        threads: of the autoscheduler. With 1 its schedule runs too, with more also the one for so
            many threads; None for neither.
    """
    program = calls.program
    plain = Schedule(program.kernel)

    def scheduled(label: str, count: int) -> Runner:
        free = Schedule(program.free_kernel)
        found = optimize_schedule(free, as_machine(machine), threads=count)
        return own(found.schedule, label)

    def own(schedule: Schedule | None, label: str) -> Runner:
        if schedule is None:
            raise UnavailableError(f"the gallery has no {program.name}.sched")
        made = compiled_by_polysched(schedule, program.function, folder, label, machine)
        return runner_of(calls, expected, made)

    return (
        Contestant(OWN, partial(own, program.schedule, OWN)),
        *(
            Contestant(label, partial(scheduled, label, count))
            for label, count in ((AUTO, 1), (THREADED, threads or 1))
            if threads is not None and (label == AUTO or count > 1)
        ),
        Contestant(PLAIN, partial(own, plain, PLAIN)),
        *(compiler_contestant(calls, expected, compiler, folder) for compiler in compilers),
    )


def compiler_contestant(
    calls: Calls, expected: Expected, compiler: CCompiler, folder: Path
) -> Contestant:
    """A C compiler as a contestant; its code goes to ``folder``."""

    def prepare() -> Runner:
        return runner_of(calls, expected, compiled_by(compiler, calls.program.source, folder))

    return Contestant(compiler.name, prepare, lambda *_: compiler_kernels(compiler))


def runner_of(calls: Calls, expected: Expected, library: ctypes.CDLL) -> Runner:
    """Prepare a library that defines the program's function for a race."""
    calls.forget()
    restore = calls.restore if calls.originals else None
    return Runner(
        calls.call(library),
        lambda: expected.comparable({name: calls.arrays[name] for name in calls.written}),
        restore,
    )


def speedups(program: str, results: Iterable[Result]) -> tuple[Speedup, ...]:
    """Compute polysched's speedups over the contestants of a program that are not held back."""
    by_name = {result.contestant: result for result in results}
    own = by_name.get(OWN) or by_name.get(PLAIN)
    if own is None:
        return ()
    ratios = [
        Speedup(program, name, own.fraction_of_peak / other.fraction_of_peak, own.contestant)
        for name, other in by_name.items()
        if name not in {OWN, own.contestant, THREADED} and other.held_back is None
    ]
    one, several = by_name.get(AUTO), by_name.get(THREADED)
    if one is not None and several is not None:
        ratio = several.fraction_of_peak / one.fraction_of_peak
        ratios.append(Speedup(program, ONE_THREAD, ratio, THREADED))
    return tuple(ratios)
