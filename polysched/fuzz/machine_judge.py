"""Judging an accepted schedule end to end: compiled by LLVM and run on this machine."""

from __future__ import annotations

import numpy as np

from polysched.errors import LoweringError
from polysched.fuzz.instances import Sizes
from polysched.fuzz.judgement import NO_LOOPS, Finding, Judgement, Mode
from polysched.fuzz.subject import Subject, instance_count
from polysched.ir.memory import AnyArray
from polysched.legality.verdict import Verdict
from polysched.loops.generate import generate_loops
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache
from polysched.schedule.prefetch import Prefetch
from polysched.schedule.schedule import Schedule
from polysched.schedule.stream import Stream
from polysched.schedule.transpose import Transpose

SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17)
"""Values of the parameters: nothing, one, primes, and one less and more than lanes."""

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


def judge_machine(
    subject: Subject, schedule: Schedule, verdict: Verdict, machine: Machine
) -> Judgement:
    """What the machine code computes.

    Integers must be equal bit for bit. Floats, all positive and never subtracted, may differ
    relatively by ``ROUNDINGS`` times the precision for each statement instance.
    """
    try:
        compiled = compile(schedule, machine, cache=ObjectCache(None))
    except LoweringError as error:
        if not _has_loops(schedule):
            return Judgement(Mode.MACHINE, verdict.kind, remark=NO_LOOPS)
        if any(isinstance(step, _REQUESTS) for step in schedule.steps):
            return Judgement(Mode.MACHINE, verdict.kind, remark=NOT_TO_BE_HAD)
        return Judgement(Mode.MACHINE, verdict.kind, Finding.NO_CODE, str(error))
    threads = {"threads": THREADS} if compiled.is_threaded else {}
    for sizes in subject.affordable(SIZES, MOST_INSTANCES, RUNS):
        run = subject.run(sizes)
        given = {name: array.copy() for name, array in run.arguments.items()}
        compiled(**given, **sizes, **threads)
        for name, array in run.arguments.items():
            expected = run.results.get(name, array)
            if not _agrees(given[name], expected, subject, sizes):
                detail = f"at {sizes}: array '{name}' differs"
                return Judgement(Mode.MACHINE, verdict.kind, Finding.WRONG_RESULT, detail)
    return Judgement(Mode.MACHINE, verdict.kind)


def _has_loops(schedule: Schedule) -> bool:
    try:
        generate_loops(schedule.program)
    except LoweringError:
        return False
    return True


def _agrees(got: AnyArray, expected: AnyArray, subject: Subject, sizes: Sizes) -> bool:
    if got.dtype.kind != "f":
        return np.array_equal(got, expected)
    information = np.finfo(got.dtype)
    if not (np.abs(expected) < information.max / 4).all():
        return True  # too near to an overflow, which one order has and another has not
    count = instance_count(subject.kernel, sizes)
    bound = ROUNDINGS * count * float(information.eps)
    return np.allclose(got, expected, rtol=bound, atol=0.0, equal_nan=True)
