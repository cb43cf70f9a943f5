"""Scalar replacement: which values stay in registers, and that nothing else changes."""

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i8, i32
from polysched.lower import lower
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from polysched.vector.pass_list import loops_after
from polysched.vector.passes.carry import INTEGER_REGISTERS
from tests.support.differential import assert_agrees, spread

SIZES = (0, 1, 2, 3, 4, 9, 17)
MACHINE = PRESETS["sapphirerapids"]


def carried(schedule: Schedule) -> int:
    """The registers that the pass adds."""
    loops = lower(schedule)
    before = loops_after(loops, MACHINE, "promote").registers
    return len(loops_after(loops, MACHINE, "carry").registers) - len(before)


def line(*offsets: int, start: int = 2) -> Kernel:
    """``y[i] = x[i] + y[i + offset] + ...``."""
    build = KernelBuilder("line")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.inout("y", f32, (n,))
    with build.loops(i=(start, n)) as i, build.statement("S"):
        value = x[i]
        for offset in offsets:
            value = value + y[i + offset]
        y[i] = value
    return build.kernel()


@pytest.mark.parametrize(
    ("offsets", "registers"),
    [
        ((-1,), 2),  # the value, and the one of the iteration before
        ((-1, -2), 3),  # the second register takes over from the first
        ((-2,), 0),  # the first two iterations would need loads of their own
        ((0,), 0),
    ],
)
def test_recurrences(offsets: tuple[int, ...], registers: int) -> None:
    schedule = Schedule(line(*offsets))
    assert carried(schedule) == registers
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_a_block_that_is_written_out() -> None:
    schedule = Schedule(line(-1, -2)).split("i", 4).unroll("ii")
    assert carried(schedule) > 0
    assert_agrees(schedule, *spread("n", values=SIZES))


def with_another_write(subscript: str) -> Kernel:
    """``y[i] = x[i] + y[i - 1]; y[...] = 0``."""
    build = KernelBuilder("another")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", f32, (n,)), build.inout("y", f32, (n + 1,))
    with build.loops(i=(1, n)) as i:
        with build.statement("S"):
            y[i] = x[i] + y[i - 1]
        with build.statement("T"):
            y[{"next": i + 1, "same": i, "mirrored": n - i}[subscript]] = 0.0
    return build.kernel()


@pytest.mark.parametrize(("subscript", "registers"), [("next", 2), ("same", 2), ("mirrored", 0)])
def test_another_write(subscript: str, registers: int) -> None:
    schedule = Schedule(with_another_write(subscript))
    assert carried(schedule) == registers
    assert_agrees(schedule, *spread("n", values=SIZES[1:]))


def table(dtype: object = f32) -> Kernel:
    """``d[i][j] = d[i - 1][j] + d[i][j - 1] + d[i - 1][j - 1]``, in rows."""
    build = KernelBuilder("table")
    n = build.parameter("n", minimum=1)
    d = build.inout("d", dtype, (n, n))  # type: ignore[arg-type]
    with build.loops(i=(1, n), j=(1, n)) as (i, j), build.statement("S"):
        d[i, j] = d[i - 1, j] + d[i, j - 1] + d[i - 1, j - 1]
    return build.kernel()


def test_rows_side_by_side() -> None:
    def rows(kernel: Kernel, skewed: int, count: int) -> Schedule:
        schedule = Schedule(kernel).skew("j", "i", skewed) if skewed else Schedule(kernel)
        return schedule.split("i", count).reorder("j", "ii").unroll("ii")

    for skewed, count in ((0, 4), (1, 4), (2, 2)):
        schedule = rows(table(), skewed, count)
        assert carried(schedule) > 0
        assert_agrees(schedule, *spread("n", values=SIZES[1:]))
    narrow = rows(table(i8), 1, 2)
    assert carried(narrow) > 0
    assert_agrees(narrow, *spread("n", values=SIZES[1:]))
    # Many integers would spill.
    assert carried(rows(table(i32), 1, 2 * INTEGER_REGISTERS)) == 0
