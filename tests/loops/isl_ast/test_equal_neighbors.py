"""Equal neighbors in a sequence run in the order of the sequence."""

from random import Random

import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.semantics.reference import run_reference
from polysched.legality.check import check
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import For, walk
from polysched.schedule.schedule import Schedule
from tests.support.alike import random_kernel, random_schedule
from tests.support.differential import arguments, assert_equal
from tests.support.interpreting import interpret


def in_turn(count: int, *, apart: bool = False) -> Kernel:
    """Updates of one element that do not commute, in one loop or each in a loop of its own."""
    build = KernelBuilder("turns")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", i32, (n,))
    nests = [range(number, number + 1) for number in range(count)] if apart else [range(count)]
    for nest in nests:
        with build.loops(**{f"i{nest.start}": n}) as i:
            for number in nest:
                x[i] = x[i] * (number + 2) + number
    return build.kernel()


def assert_same(schedule: Schedule, **sizes: int) -> None:
    given = arguments(schedule.kernel, sizes)
    expected = run_reference(schedule.kernel, given, sizes)
    assert_equal(interpret(generate_loops(schedule.program), given, sizes), expected, str(sizes))


@pytest.mark.parametrize("apart", [False, True])
def test_statements_that_run_alike(apart: bool) -> None:
    schedule = Schedule(in_turn(5, apart=apart))
    for one in (schedule, schedule.vectorize("i0", 4), schedule.split("i0", 3).unroll("i0i")):
        for n in (1, 7, 12):
            assert_same(one, n=n)


def test_loops_keep_their_names() -> None:
    loops = generate_loops(Schedule(in_turn(3, apart=True)).program)
    assert [one.variable for one in walk(loops.body) if isinstance(one, For)] == ["i0", "i1", "i2"]


def test_nests_of_equal_statements_in_turn() -> None:
    build = KernelBuilder("nested")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", i32, (n,))
    for name in "ab":
        with build.loops(**{name: n}) as i:
            for number in range(3):
                x[i] = x[i] * (number + 2) + ord(name)
    schedule = Schedule(build.kernel())
    assert_same(schedule, n=5)


def test_random_kernels() -> None:
    legal = 0
    for seed in range(25):
        random = Random(seed)
        schedule = random_schedule(random, random_kernel(random))
        if check(schedule).is_legal:
            legal += 1
            assert_same(schedule, n=int(np.random.default_rng(seed).integers(1, 9)))
    assert legal > 8
