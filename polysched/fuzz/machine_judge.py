"""Judging an accepted schedule end to end: compiled by LLVM and run on this machine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from polysched.errors import CodeTooLargeError, LoweringError
from polysched.fuzz.instances import Sizes
from polysched.fuzz.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.placement import Place, placed
from polysched.fuzz.subject import Subject, instance_count
from polysched.ir.memory import AnyArray
from polysched.ir.strides import concrete_strides
from polysched.legality.verdict import Verdict
from polysched.loops.generate import generate_loops
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache
from polysched.schedule.prefetch import Prefetch
from polysched.schedule.schedule import Schedule
from polysched.schedule.stream import Stream
from polysched.schedule.transpose import Transpose

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 64, 67)
"""Values of the parameters: nothing, one, primes, and one less and more than lanes."""

OFFSETS = (0, 0, 0, 1, 2, 3, 5, 8, 13)
"""Elements from the start of a cache line to the first element of an argument."""

MOST_INSTANCES = 2500
RUNS = 5
"""Sizes at which one schedule runs, at most."""

THREADS = 3
"""Threads of a parallel loop, wherever the fuzzer runs."""

ROUNDINGS = 4
"""Roundings of one statement instance, at most, that an order or an FMA may change."""


_REQUESTS = (Transpose, Prefetch, Stream)
"""Steps that ask of the code what only the code generator can tell to be impossible."""

NOT_TO_BE_HAD = "accepted, but the code asked for cannot be had"
"""A remark: a tile that cannot be formed, a buffer without memory; polysched says so."""

TOO_MUCH_CODE = "accepted, but it would be too much code"
"""A remark; polysched says so."""


def judge_machine(
    subject: Subject, schedule: Schedule, verdict: Verdict, machine: Machine
) -> Judgment:
    """What the machine code computes.

    Integers must be equal bit for bit, and so must floats that round operation by operation. Other
    floats, all positive and never subtracted, may differ relatively by ``ROUNDINGS`` times the
    precision for each statement instance. Nothing may change around arrays and in their gaps.
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


def _places(subject: Subject, sizes: Sizes) -> dict[str, Place]:
    """The arguments, each with its strides, at the start of a cache line or some elements off."""
    generator = np.random.default_rng([*sizes.values(), 1])
    places = {}
    for name, array in subject.run(sizes).arguments.items():
        declared = subject.kernel.arrays[name]
        strides = None
        if declared.strides is not None:
            strides = concrete_strides(declared, array.shape, sizes)
        places[name] = placed(array, strides, offset=int(generator.choice(OFFSETS)))
    return places


def _wrong(subject: Subject, sizes: Sizes, places: Mapping[str, Place]) -> str:
    """What is wrong with the results; empty if nothing is."""
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
        return np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")
    information = np.finfo(got.dtype)
    if not (np.abs(expected) < information.max / 4).all():
        return True  # too near to an overflow, which one order has and another has not
    count = instance_count(subject.kernel, sizes)
    bound = ROUNDINGS * count * float(information.eps)
    return np.allclose(got, expected, rtol=bound, atol=0.0, equal_nan=True)
