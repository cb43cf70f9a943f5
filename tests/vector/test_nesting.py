import pytest

from polysched.errors import LoweringError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.lower import show
from polysched.schedule.schedule import Schedule


def nest(depth: int) -> Schedule:
    build = KernelBuilder("nest")
    y = build.inout("y", i32, (2,))
    with build.loops(**{f"i{number}": 2 for number in range(depth)}) as indices:
        y[indices[0]] = 1
    return Schedule(build.kernel())


def test_the_deepest_nest() -> None:
    assert "define" in show(nest(32), "llvm")


def test_a_nest_too_deep() -> None:
    with pytest.raises(LoweringError, match="'nest': 33 loops are nested in each other; machine c"):
        show(nest(33), "llvm")


def test_unrolled_loops_are_none() -> None:
    schedule = nest(36)
    for number in range(4):
        schedule = schedule.unroll(f"i{number}")
    assert "define" in show(schedule, "llvm")
