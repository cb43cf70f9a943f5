"""Calls of C functions on one set of arguments, and the right results."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.c_programs.programs import Program
from polysched.bench.c_programs.works import uniform
from polysched.bench.measure.contestant import Runner
from polysched.ir.core.kernel import Array, Role
from polysched.ir.semantics.memory import concrete_shape
from polysched.llvm.export.c_function import CFunction
from polysched.runtime.memory import aligned_zeros

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
        originals: initial contents of the arrays that a run both reads and changes.
        written: names of the arrays that hold results.
    """

    program: Program
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
            value = self.program.sizes[argument.name]
        else:
            value = self.arrays[argument.meaning].item()
        # numpy's stubs want to know which type it is.
        passed: Any = np.ctypeslib.as_ctypes_type(argument.dtype.numpy())  # type: ignore[arg-type]
        return passed(value)


def prepared_calls(program: Program) -> Calls:
    """Allocate and fill the arguments of a program."""
    generator = np.random.default_rng(0)
    outside = [a for a in program.kernel.arrays.values() if a.role is not Role.TEMPORARY]
    arrays = {array.name: _filled(array, program, generator) for array in outside}
    changed = [array.name for array in outside if array.role is Role.INOUT]
    return Calls(
        program,
        arrays,
        {name: arrays[name].copy() for name in changed},
        tuple(array.name for array in outside if array.role in (Role.INOUT, Role.OUTPUT)),
    )


def _filled(array: Array, program: Program, generator: np.random.Generator) -> npt.NDArray[Any]:
    shape = concrete_shape(array.shape, program.sizes)
    filled = aligned_zeros(shape, array.dtype.numpy())
    make = program.inputs.get(array.name)
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


def runner_of(calls: Calls, expected: Expected, library: ctypes.CDLL) -> Runner:
    """Prepare a library that defines the program's function for a race."""
    calls.forget()
    restore = calls.restore if calls.originals else None
    return Runner(
        calls.call(library),
        lambda: expected.comparable({name: calls.arrays[name] for name in calls.written}),
        restore,
    )
