from collections.abc import Callable

import numpy as np
import pytest

from polysched.errors import LoweringError, ScheduleError
from polysched.inspect.assembly import parse
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.lower import compile, show
from polysched.machine.peak import aligned_array
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import NO_CACHE, assert_agrees, spread


def streamed() -> Schedule:
    return Schedule(kernels.scale(dtype=f32)).vectorize("i", 16).stream("y")


def instructions(schedule: Schedule) -> list[str]:
    found = parse(show(schedule, "asm"))
    return [one.mnemonic for function in found for one in function.instructions]


def test_whole_vectors_go_past_the_caches_and_a_fence_ends_the_kernel() -> None:
    found = instructions(streamed())
    assert any(one.startswith("vmovnt") for one in found)
    assert "sfence" in found
    plain = instructions(streamed().first(1))
    assert not any(one.startswith("vmovnt") or one == "sfence" for one in plain)


def test_every_thread_has_a_fence() -> None:
    schedule = Schedule(kernels.scale(dtype=f32)).split("i", 64).vectorize("ii", 16)
    functions = parse(show(schedule.stream("y").parallel("io"), "asm"))
    fenced = [
        function.name
        for function in functions
        if any(one.mnemonic == "sfence" for one in function.instructions)
    ]
    assert any(name.endswith("region0") for name in fenced)


def test_results() -> None:
    assert_agrees(streamed(), *spread("n", values=(0, 1, 15, 16, 17, 64, 100)))


@pytest.mark.parametrize("offset", [0, 4, 16, 32, 60])
def test_any_alignment(offset: int) -> None:
    """What does not stand at a multiple of the vector's size is stored as ever."""
    run = compile(streamed(), cache=NO_CACHE)
    x = np.arange(200, dtype=np.float32)
    memory = aligned_array(1024, 64)
    y = memory[offset : offset + 800].view(np.float32)
    run(x, y)
    np.testing.assert_array_equal(y, run(x))


def test_scattered_vectors_that_no_tile_mends() -> None:
    schedule = Schedule(kernels.transpose(dtype=f32)).vectorize("j", 8).stream("y")
    with pytest.raises(
        LoweringError, match="array 'y' is to be streamed, but no vector loop writes"
    ):
        show(schedule, "llvm")


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.stream("z"), "no array 'z'"),
        (lambda s: s.stream("x"), "array 'x' is an input; stream takes .*, here y"),
        (lambda s: s.stream("t"), "array 't' is a temporary; stream takes an argument that"),
    ],
)
def test_errors(step: Callable[[Schedule], Schedule], message: str) -> None:
    build = KernelBuilder("k")
    x, y = build.input("x", i32, (8,)), build.output("y", i32, (8,))
    t = build.temporary("t", i32, (8,))
    with build.loops(i=8) as i:
        t[i] = x[i]
    with build.loops(i=8) as i:
        y[i] = t[i]
    with pytest.raises(ScheduleError, match=message):
        step(Schedule(build.kernel()))
