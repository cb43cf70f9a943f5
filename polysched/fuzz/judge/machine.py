"""Judge an accepted schedule end to end: compile it with LLVM and run it on the host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CodeTooLargeError, LoweringError
from polysched.fuzz.judge.instances import Sizes
from polysched.fuzz.judge.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.judge.subject import Subject, instance_count
from polysched.ir.core.strides import concrete_strides, elements_spanned
from polysched.ir.semantics.memory import AnyArray
from polysched.legality.verdicts.verdict import Verdict
from polysched.loops.generate import generate_loops
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.stream import Stream
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.schedule import Schedule

GUARD = 256
"""Least number of guard bytes before and after every array."""

_LINE = 64
"""Bytes of a cache line and of the longest vector."""

GUARD_BYTE = 0x5A

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 64, 67)
"""Values of the parameters: 0, 1, primes, and vector lengths plus or minus one."""

OFFSETS = (0, 0, 0, 1, 2, 3, 5, 8, 13)
"""Offsets of an argument from the start of a cache line, in elements."""

MOST_INSTANCES = 2500
"""Most statement instances of one run."""

RUNS = 5
"""Most sizes at which to run one schedule."""

THREADS = 3
"""Threads of a parallel loop, the same on every host."""

ROUNDINGS = 4
"""Most roundings of one statement instance that reassociation or an FMA may change."""

_REQUESTS = (Transpose, Prefetch, Stream)
"""Steps that the code generator may reject, because only it knows that they are impossible."""

NOT_TO_BE_HAD = "accepted, but the code asked for cannot be had"
"""Remark: the code generator rejected a step, such as a tile that cannot be transposed."""

TOO_MUCH_CODE = "accepted, but it would be too much code"
"""Remark: the code generator rejected the size of the code."""


def judge_machine(
    subject: Subject, schedule: Schedule, verdict: Verdict, machine: Machine
) -> Judgment:
    """Run the machine code at several sizes and compare its results with the reference.

    Integers must be equal bit for bit, and so must floats of kernels without FMA contraction. Other
    floats are positive and never subtracted; they may differ by a relative error of ``ROUNDINGS``
    times the machine epsilon for each statement instance. Bytes around arrays and in their gaps
    must not change.
    """
    try:
        compiled = compile(schedule, machine, cache=ObjectCache(None))
    except CodeTooLargeError:
        return Judgment(Mode.MACHINE, verdict.kind, remark=TOO_MUCH_CODE)
    except LoweringError as error:
        if not _has_loops(schedule):
            return Judgment(Mode.MACHINE, verdict.kind, remark=NO_LOOPS)
        if any(isinstance(step, _REQUESTS) for step in schedule.steps):
            return Judgment(Mode.MACHINE, verdict.kind, remark=NOT_TO_BE_HAD)
        return Judgment(Mode.MACHINE, verdict.kind, Finding.NO_CODE, str(error))
    threads = {"threads": THREADS} if compiled.is_threaded else {}
    for sizes in subject.affordable(SIZES, MOST_INSTANCES, RUNS):
        places = _places(subject, sizes)
        arguments = {name: place.array for name, place in places.items()}
        compiled(**arguments, **sizes, **threads)
        wrong = _wrong(subject, sizes, places)
        if wrong:
            return Judgment(Mode.MACHINE, verdict.kind, Finding.WRONG_RESULT, wrong)
    return Judgment(Mode.MACHINE, verdict.kind)


def _places(subject: Subject, sizes: Sizes) -> dict[str, _Place]:
    """Copy the arguments into guarded memory, with their strides and a random offset."""
    generator = np.random.default_rng([*sizes.values(), 1])
    places = {}
    for name, array in subject.run(sizes).arguments.items():
        declared = subject.kernel.arrays[name]
        strides = None
        if declared.strides is not None:
            strides = concrete_strides(declared, array.shape, sizes)
        places[name] = placed(array, strides, offset=int(generator.choice(OFFSETS)))
    return places


def _wrong(subject: Subject, sizes: Sizes, places: Mapping[str, _Place]) -> str:
    """Describe the first difference of the results; empty if there is none."""
    run = subject.run(sizes)
    for name, place in places.items():
        if not _agrees(place.array, run.results.get(name, run.arguments[name]), subject, sizes):
            return f"at {sizes}: array '{name}' differs"
        if place.changed_outside():
            return f"at {sizes}: array '{name}' is written outside of its elements"
    return ""


def _has_loops(schedule: Schedule) -> bool:
    try:
        generate_loops(schedule.program)
    except LoweringError:
        return False
    return True


def _agrees(got: AnyArray, expected: AnyArray, subject: Subject, sizes: Sizes) -> bool:
    if got.dtype.kind != "f" or not subject.kernel.fp_contract:
        return np.array_equal(got, expected, equal_nan=True)
    information = np.finfo(got.dtype)
    if not (np.abs(expected) < information.max / 4).all():
        return True  # near an overflow: one summation order may overflow and another may not
    count = instance_count(subject.kernel, sizes)
    bound = ROUNDINGS * count * float(information.eps)
    return np.allclose(got, expected, rtol=bound, atol=0.0, equal_nan=True)


@dataclass(frozen=True, eq=False)
class _Place:
    """Array inside of guarded memory."""

    memory: NDArray[np.uint8]
    array: AnyArray

    @property
    def start(self) -> int:
        """The byte offset of the first element in the memory."""
        return int(self.array.ctypes.data - self.memory.ctypes.data)

    def changed_outside(self) -> int:
        """Count the changed guard bytes, around the array and in the gaps between its elements."""
        outside = self.memory.copy()
        shape = (*self.array.shape, self.array.itemsize)
        steps = (*self.array.strides, 1)
        own: NDArray[Any] = np.ndarray(shape, np.uint8, outside, self.start, steps)
        own.fill(GUARD_BYTE)
        return int(np.count_nonzero(outside != GUARD_BYTE))


def placed(array: AnyArray, strides: tuple[int, ...] | None = None, *, offset: int = 0) -> _Place:
    """Copy an array into guarded memory.

    Args:
        strides: in elements; None makes a contiguous copy.
        offset: the distance of the first element from a multiple of 64 bytes, in elements.
    """
    spanned = array.size if strides is None else elements_spanned(array.shape, strides)
    before = GUARD + _LINE + offset * array.itemsize
    memory = np.full(before + spanned * array.itemsize + GUARD, GUARD_BYTE, np.uint8)
    start = before - (memory.ctypes.data + before - offset * array.itemsize) % _LINE
    steps = None if strides is None else [stride * array.itemsize for stride in strides]
    inside: AnyArray = np.ndarray(array.shape, array.dtype, memory, start, steps)
    inside[...] = array
    return _Place(memory, inside)
