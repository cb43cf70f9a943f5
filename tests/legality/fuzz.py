"""Random schedules judged twice: by the checker, and by enumeration or by running them."""

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass

import numpy as np

from polysched.errors import PolyschedError
from polysched.ir.kernel import Kernel, Role
from polysched.ir.memory import concrete_shape
from polysched.ir.reference import run_reference
from polysched.ir.tree import executed
from polysched.legality.check import check
from polysched.legality.verdict import VerdictKind
from polysched.loops.generate import generate_loops
from polysched.loops.interpreter import interpret
from polysched.schedule.schedule import Schedule
from tests.legality.enumeration import keeps_order
from tests.legality.random_programs import (
    LARGEST_SIZE,
    Integers,
    random_kernel,
    random_schedule,
)

SIZES = range(1, LARGEST_SIZE + 1)


@dataclass(frozen=True)
class Judged:
    """A schedule, the checker's verdict, and what the other way of judging found."""

    schedule: Schedule
    verdict: VerdictKind
    really_legal: bool


def judge_by_enumeration(integers: Integers) -> Judged:
    """A schedule without buffers against all pairs of its instances."""
    kernel = random_kernel(integers)
    schedule = random_schedule(integers, kernel, buffers=False)
    tree = executed(schedule.program.tree)
    really = all(keeps_order(kernel, tree, {"N": size}) for size in SIZES)
    return Judged(schedule, check(schedule).kind, really)


def judge_by_running(integers: Integers) -> Judged:
    """Any schedule against what its loops compute; a wrong order need not show in the results."""
    kernel = random_kernel(integers)
    schedule = random_schedule(integers, kernel, buffers=True)
    verdict = check(schedule).kind
    if verdict is not VerdictKind.LEGAL:
        return Judged(schedule, verdict, False)
    return Judged(schedule, verdict, all(same_results(kernel, schedule, size) for size in SIZES))


def same_results(kernel: Kernel, schedule: Schedule, size: int) -> bool:
    """Whether the loops of a schedule compute what the kernel says, on random integers."""
    generator = np.random.default_rng(size)
    arrays = {
        name: generator.integers(-99, 99, concrete_shape(array.shape, {"N": size}), np.int32)
        for name, array in kernel.arrays.items()
        if array.role is not Role.TEMPORARY
    }
    expected = run_reference(kernel, arrays, {"N": size})
    got = interpret(generate_loops(schedule.program), arrays, {"N": size})
    return all(np.array_equal(expected[name], got[name]) for name in expected)


def describe(judged: Judged) -> str:
    """A schedule as text that says all of it."""
    kernel = judged.schedule.kernel
    lines = [f"{one}    over {one.domain}" for one in kernel.statements.values()]
    return "\n".join([*lines, judged.schedule.trace(), str(judged.verdict)])


def is_wrong(judged: Judged) -> bool:
    """Whether the checker accepts what is illegal or refutes what is legal; unknown is neither."""
    if judged.verdict is VerdictKind.LEGAL:
        return not judged.really_legal
    return judged.verdict is VerdictKind.ILLEGAL and judged.really_legal


def fuzz(seconds: float, seed: int) -> Counter[str]:
    """Judge random schedules both ways for some time; print the wrong and the unknown ones.

    Args:
        seed: of the first schedule; each has the next seed.

    Returns:
        How many there were of each verdict, by judge, and how many were ``WRONG`` or ``FAILED``.
    """
    counts: Counter[str] = Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        judge = (judge_by_enumeration, judge_by_running)[seed % 2]
        name = judge.__name__
        try:
            judged = judge(random.Random(seed).randint)
        except PolyschedError as error:
            counts[f"{name} FAILED"] += 1
            print(f"seed {seed}, {name}: {error}\n")
        else:
            counts[f"{name} {judged.verdict.value}"] += 1
            counts[f"{name} WRONG"] += is_wrong(judged)
            if is_wrong(judged) or judged.verdict is VerdictKind.UNKNOWN:
                print(f"seed {seed}, {name}:\n{describe(judged)}\n")
        seed += 1
    return counts


if __name__ == "__main__":
    print(fuzz(float(sys.argv[1]), int(sys.argv[2])))
