"""Late operands of extrema come last, and no value changes."""

import pytest

import polysched as ps
from polysched.lower import lower
from polysched.machine.presets import PRESETS
from polysched.vector.ir import Assign, VectorProgram, walk
from polysched.vector.pass_list import run_passes
from polysched.vector.printing import format_statement
from tests.support.differential import assert_agrees, spread

MACHINE = PRESETS["sapphirerapids"]


def statements(kernel: ps.Kernel, last: str = "late-operands") -> list[str]:
    """The statements of a kernel as written after a pass."""
    program = run_passes(lower(ps.Schedule(kernel)), MACHINE, last=last)
    assert isinstance(program, VectorProgram)
    return [format_statement(node) for node in walk(program.body) if isinstance(node, Assign)]


@pytest.mark.parametrize("dtype", [ps.i32, ps.u8, ps.i64, ps.f32])
def test_the_late_operand_comes_last(dtype: ps.DType) -> None:
    build = ps.KernelBuilder("path")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.input("y", dtype, (n,))
    h = build.inout("h", dtype, (n + 1,))
    with build.loops(j=n) as j, build.statement("S"):
        h[j + 1] = ps.maximum(ps.maximum(h[j], x[j]), y[j])
    kernel = build.kernel()
    is_last = any("max(max(x[j], y[j]), h.c0)" in text for text in statements(kernel))
    assert is_last == dtype.is_integer
    assert_agrees(ps.Schedule(kernel), *spread("n", values=(0, 1, 2, 9)))


def test_operands_of_temporaries_are_combined_anew() -> None:
    build = ps.KernelBuilder("path")
    n = build.parameter("n")
    x, y = build.input("x", ps.i32, (n,)), build.input("y", ps.i32, (n,))
    h, best = build.inout("h", ps.i32, (n + 1,)), build.temporary("best", ps.i32, ())
    with build.loops(j=n) as j:
        with build.statement("first"):
            best[()] = ps.maximum(h[j], x[j])
        with build.statement("second"):
            h[j + 1] = ps.maximum(best[()], y[j])
    kernel = build.kernel()
    assert any("max(max(x[j], y[j]), h.c0)" in text for text in statements(kernel))
    assert_agrees(ps.Schedule(kernel), *spread("n", values=(0, 1, 2, 9)))


def test_an_operand_that_has_changed_is_not_read_again() -> None:
    build = ps.KernelBuilder("path")
    n = build.parameter("n")
    x, y = build.inout("x", ps.i32, (n,)), build.input("y", ps.i32, (n,))
    h, best = build.inout("h", ps.i32, (n + 1,)), build.temporary("best", ps.i32, ())
    with build.loops(j=n) as j:
        with build.statement("first"):
            best[()] = ps.maximum(h[j], x[j])
        with build.statement("change"):
            x[j] = 100
        with build.statement("second"):
            h[j + 1] = ps.maximum(best[()], y[j])
    assert_agrees(ps.Schedule(build.kernel()), *spread("n", values=(1, 2, 9)))
