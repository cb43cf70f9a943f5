from collections.abc import Callable
from itertools import product

import pytest

from polysched.errors import LoweringError, ScheduleError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i8, i16, i32
from polysched.lower import lower
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees
from tests.support.effort import covering
from tests.support.showing import before_and_after

STRATEGIES = ("eltwise", "shuffle_1d", "gather", "network")


def tiled(
    lanes: int, strategy: str | None, dtype: DType = i32, *, stores: bool = False
) -> Schedule:
    """``y[j, i] = x[i, j]`` in square tiles: loads by lanes apart, or stores."""
    across, along = ("j", "i") if stores else ("i", "j")
    schedule = (
        Schedule(kernels.transpose(dtype=dtype))
        .tile(("i", "j"), (lanes, lanes))
        .reorder(f"{along}i", f"{across}i")
        .vectorize(f"{across}i", lanes)
        .unroll(f"{along}i")
    )
    return schedule.transpose(f"{across}iv", f"{along}i", strategy) if strategy else schedule


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    check_golden("schedule/transpose.txt", before_and_after(tiled(4, "network")))


@covering(1, stores=[False, True], strategy=STRATEGIES)
def test_strategies(strategy: str, stores: bool) -> None:
    sizes = [{"n": n, "m": m} for n, m in product((0, 7, 8, 9), (3, 17))]
    assert_agrees(tiled(8, strategy, stores=stores), *sizes, interpreted=strategy == "network")


@covering(
    1,
    stores=[False, True],
    **{
        "machine, dtype, lanes": [
            (None, i8, 16),
            (None, f64, 8),
            ("haswell-avx2", i16, 16),
            ("haswell-avx2", f64, 4),
            ("generic", f32, 4),
            ("generic", f32, 8),
        ]
    },
)
def test_types_and_machines(machine: str | None, dtype: DType, lanes: int, stores: bool) -> None:
    schedule = tiled(lanes, "network", dtype, stores=stores)
    sizes = ({"n": 20, "m": 35}, {"n": 5, "m": 33})
    assert_agrees(schedule, *sizes, machine=machine, interpreted=False)


def test_without_the_step_tiles_are_formed_too() -> None:
    assert_agrees(tiled(8, None), {"n": 19, "m": 27})


def test_a_later_step_may_say_otherwise() -> None:
    schedule = tiled(8, "network").transpose("iiv", "ji", "gather")
    assert schedule.steps[-1] == Transpose("iiv", "ji", "gather")
    assert_agrees(schedule, {"n": 19, "m": 27})


def test_tile_that_cannot_be_formed() -> None:
    copy = Schedule(kernels.grid(8, 32)).vectorize("j", 8).unroll("i").transpose("jv", "i")
    lower(copy)
    with pytest.raises(LoweringError, match="vector loop 'jv' is to be transposed in registers"):
        assert_agrees(copy)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.transpose("iiv", "ji", "netwrk"), "unknown strategy 'netwrk' of transpose"),
        (lambda s: s.transpose("ji", "ji"), "loop 'ji' has kind 'unrolled'; expected 'vector'"),
        (lambda s: s.transpose("iiv", "jo"), "loop 'jo' has kind 'for'; expected 'unrolled'"),
        (lambda s: s.transpose("k", "ji"), "no loop 'k'"),
    ],
)
def test_errors(step: Callable[[Schedule], Schedule], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        step(tiled(8, None))


def test_statement_outside_of_the_unrolled_loop() -> None:
    build = KernelBuilder("two")
    x, y = build.input("x", i32, (8, 8)), build.output("y", i32, (8, 8))
    z = build.output("z", i32, (8,))
    with build.loops(i=8) as i:
        with build.statement("first"):
            z[i] = 1
        with build.loops(j=8) as j, build.statement("second"):
            y[j, i] = x[i, j]
    schedule = Schedule(build.kernel()).vectorize("i", 8).unroll("j")
    message = "'first' runs in vector loop 'iv' but not in the unrolled loop 'j'; distribute 'iv'"
    with pytest.raises(ScheduleError, match=message):
        schedule.transpose("iv", "j")
