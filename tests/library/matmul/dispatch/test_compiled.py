import numpy as np

from polysched.ir.expr.dtypes import f32
from polysched.library.matmul.dispatch.compiled import epilogue_only, product_kernel
from polysched.library.matmul.kernel.declare import Sizes, Stack
from polysched.library.matmul.kernel.epilogue import PLAIN, Bias, Epilogue, Factor
from polysched.library.matmul.plan.problem import Problem
from tests.library.matmul.products import operands, product

SIZES = Sizes(3, 5, 4)


def test_a_kernel_is_compiled_once() -> None:
    first = product_kernel(Problem(SIZES), (), PLAIN, 1)
    assert product_kernel(Problem(SIZES), (), PLAIN, 1) is first
    assert product_kernel(Problem(SIZES), (), Epilogue(activation="relu"), 1) is not first


def test_an_operand_that_all_products_share_has_no_stack() -> None:
    sizes = SIZES._replace(batch=2)
    kernel = product_kernel(Problem(sizes), (Stack(2, of_a=False),), PLAIN, 1)
    a, b = operands(sizes, stacked=True)
    assert [len(array.shape) for array in kernel.signature.arrays] == [2, 3, 3]
    np.testing.assert_array_equal(kernel(a[0], b), product(a[0], b))


def test_a_finish_alone() -> None:
    epilogue = Epilogue(Factor.ZERO, bias=Bias.ROWS)
    bias = np.arange(3, dtype="f4")
    out = epilogue_only(SIZES, f32, epilogue)(bias)
    np.testing.assert_array_equal(out[0], np.tile(bias[:, None], (1, 5)))
