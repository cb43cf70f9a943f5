from __future__ import annotations

import re

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, f64
from polysched.ir.expr.expressions import operation
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator
from polysched.llvm.emit.module import CALLED
from polysched.lower import show
from polysched.schedule.schedule import Schedule


def test_vectors_call_lane_by_lane_and_floats_the_function_of_floats() -> None:
    build = KernelBuilder("powers")
    for dtype in (f32, f64):
        x = build.input(f"x_{dtype}", dtype, (8,))
        y = build.output(f"y_{dtype}", dtype, (8,))
        with build.loops(i=8) as i:
            y[i] = operation(Operator.POWER, x[i], x[i])
    schedule = Schedule(build.kernel()).vectorize("y_f32.i", 8)
    text = show(schedule, "llvm")
    assert text.count('call float @"powf"') == 8
    assert text.count('call double @"pow"') == 1


def test_no_kernel_takes_the_name_of_a_function_that_is_called() -> None:
    names = {operator.value for operator in LIBRARY_UNARY | LIBRARY_BINARY}
    assert names | {f"{name}f" for name in names} <= CALLED


def test_equal_calls_are_made_once() -> None:
    build = KernelBuilder("twice")
    x, y = build.input("x", f64, (8,)), build.output("y", f64, (8,))
    with build.loops(i=8) as i:
        power = operation(Operator.POWER, x[i], x[i])
        y[i] = select(power > 1.0, power, 0.0)
    assembly = show(Schedule(build.kernel()), "asm")
    assert len(re.findall(r"\bcall", assembly)) == 1
