from dataclasses import replace

import numpy as np
import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.llvm.emit.module import emit_module
from polysched.lower import compile, lower
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from polysched.vector.frames import LARGEST_ON_STACK
from tests.support import kernels
from tests.support.differential import NO_CACHE, assert_agrees

HOST = load_machine(None)


def through_a_temporary(length: int | None) -> Kernel:
    build = KernelBuilder("through")
    size = kernels.extent(build, "n", length)
    x, y = build.input("x", f32, (size,)), build.output("y", f32, (size,))
    t = build.temporary("t", f32, (size,))
    with build.loops(i=size) as i:
        t[i] = 2 * x[i]
    with build.loops(i=size) as i:
        y[i] = t[size - 1 - i]
    return build.kernel()


def module(kernel: Kernel) -> str:
    return emit_module(lower(Schedule(kernel)), HOST)


def test_signature() -> None:
    text = module(kernels.matmul())
    head = text[text.index("define") :].split("\n")[0]
    assert '@"matmul"' in head
    assert head.count("ptr noalias") == 3
    assert head.count("i64") == 3


def test_small_temporaries_are_on_the_stack() -> None:
    text = module(through_a_temporary(LARGEST_ON_STACK // 4))
    assert "aligned_alloc" not in text
    assert "align 64" in text
    assert_agrees(Schedule(through_a_temporary(100)), interpreted=False)


@pytest.mark.parametrize("length", [LARGEST_ON_STACK // 4 + 1, None])
def test_others_are_allocated_and_freed(length: int | None) -> None:
    text = module(through_a_temporary(length))
    assert 'call ptr @"aligned_alloc"' in text
    assert text.count('call void @"free"') == 2  # at the end, and where another array gets none
    sizes = [{"n": 0}, {"n": 1}, {"n": 5000}] if length is None else [{}]
    assert_agrees(Schedule(through_a_temporary(length)), *sizes, interpreted=False)


def test_accesses_to_different_temporaries_never_overlap_for_llvm() -> None:
    """So sums stay in registers while rows of another array are read."""
    build = KernelBuilder("two")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    first, second = build.temporary("first", f32, (n,)), build.temporary("second", f32, (n,))
    with build.loops(i=n) as i:
        first[i] = x[i]
    with build.loops(i=n) as i:
        second[i] = first[n - 1 - i]
    with build.loops(i=n) as i:
        y[i] = second[n - 1 - i]
    text = module(build.kernel())
    assert 'declare noalias ptr @"aligned_alloc"' in text
    assert text.count('call ptr @"aligned_alloc"') == 2
    assert_agrees(Schedule(build.kernel()), {"n": 0}, {"n": 5000}, interpreted=False)


def test_no_memory_for_the_workspace() -> None:
    build = KernelBuilder("hungry")
    n = build.parameter("n", minimum=1)
    t = build.temporary("t", f32, (n, n))
    y = build.output("y", f32, ())
    with build.statement("fill"):
        t[0, 0] = 1.0
    with build.statement("use"):
        y[()] = t[0, 0]
    run = compile(Schedule(build.kernel()), cache=NO_CACHE)
    y_given = np.zeros((), np.float32)
    run(y_given, n=10)
    assert y_given == 1
    y_given[...] = 7
    with pytest.raises(MemoryError, match="kernel 'hungry': no memory for its workspace"):
        run(y_given, n=1 << 30)
    assert y_given == 7


def test_an_extent_below_0_takes_no_memory() -> None:
    """Below the size where its loops begin to run, an array must not shift the next one's place."""
    build = KernelBuilder("late")
    n = build.parameter("n")
    x, y = build.input("x", f32, (n,)), build.output("y", f32, (n,))
    none, some = build.temporary("none", f32, (n - 9000,)), build.temporary("some", f32, (n,))
    with build.loops(i=n - 9000) as i:
        none[i] = x[i]
    with build.loops(i=n) as i:
        some[i] = 3 * x[i]
    with build.loops(i=n) as i:
        y[i] = some[i]
    with build.loops(i=n - 9000) as i:
        y[i] = none[i]
    assert_agrees(Schedule(build.kernel()), {"n": 0}, {"n": 70}, {"n": 9002}, interpreted=False)


def test_temporary_that_nobody_touches_takes_no_memory() -> None:
    schedule = Schedule(kernels.chain()).compute_at("P", "C.i").promote("t", "C.i")
    text = emit_module(lower(schedule), HOST)
    assert text.count("aligned_alloc") <= 2
    assert '"t"' not in text


def test_text_is_the_same_each_time() -> None:
    assert module(kernels.matmul()) == module(kernels.matmul())


@pytest.mark.parametrize("fp_contract", [True, False])
def test_a_kernel_says_whether_products_and_sums_may_round_once(fp_contract: bool) -> None:
    build = KernelBuilder("axpy")
    x, y = build.input("x", f32, (40,)), build.inout("y", f32, (40,))
    with build.loops(i=40) as i:
        y[i] = x[i] * x[i] + y[i]
    kernel = replace(build.kernel(), fp_contract=fp_contract)
    assert ("fadd contract" in module(kernel)) == fp_contract
    assert ("fmul contract" in module(kernel)) == fp_contract
    parallel = Schedule(kernel).parallel("i")
    assert ("fmul contract" in emit_module(lower(parallel), HOST)) == fp_contract
