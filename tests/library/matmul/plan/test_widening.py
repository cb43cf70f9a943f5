"""Half operands that are widened to f32 while they are packed."""

from polysched.ir.expr.dtypes import bf16, f16, f32
from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.widening import FEWEST_ROWS, widened
from polysched.machine.load import load_machine

SIZES = Sizes(64, 64, 64)
NO_STACK = ((), ())


def test_which_products_are_widened() -> None:
    zen4, skylake = load_machine("zen4"), load_machine("skylake-avx512")
    for dtype, machine, is_widened in (
        (f16, zen4, True),
        (f16, skylake, True),
        (bf16, skylake, True),
        (bf16, zen4, False),  # it has vdpbf16ps
        (f32, zen4, False),
    ):
        problem = Problem(SIZES, dtype, result=dtype)
        found = widened(problem, NO_STACK, machine)
        assert (found != problem) is is_widened
        assert found.result == dtype
        assert found.dtype == (f32 if is_widened else dtype)
    few = Problem(SIZES._replace(m=FEWEST_ROWS - 1), f16)
    assert widened(few, NO_STACK, zen4) == few


def test_kernel_reads_the_stored_arrays() -> None:
    problem = Problem(SIZES, f16, result=f16, b=Stored(is_transposed=True, strides=(80, 1)))
    found = widened(problem, NO_STACK, load_machine("zen4"))
    assert found == widened(problem, NO_STACK, load_machine("zen4"))
    assert found.transpose_b
    kernel = matmul_kernel(64, 64, 64, dtype=f32, result=f16, a=found.a, b=found.b)
    assert kernel.arrays["a_f16"].dtype == kernel.arrays["out"].dtype == f16
    assert kernel.arrays["b_f16"].strides is not None
    assert kernel.arrays["sums"].dtype == f32
