import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType, f32, f64, i8, i16, i32, i64
from polysched.ir.expressions import Expression, Index, maximum
from polysched.ir.kernel import Kernel, Order
from polysched.library.matmul.kernel import (
    Elementwise,
    Sizes,
    accumulator_of,
    matmul_kernel,
    sizes_of,
)
from polysched.lower import compile
from polysched.user import Schedule
from tests.library.matmul.products import operands, product
from tests.support.differential import NO_CACHE

SIZES = Sizes(3, 5, 4)


def run(kernel: Kernel, *inputs: np.ndarray) -> np.ndarray:
    return compile(Schedule(kernel), cache=NO_CACHE)(*inputs)


def bias_and_relu(build: KernelBuilder) -> Elementwise:
    bias = build.input("bias", f32, (SIZES.n,))

    def stored(value: Expression, row: Index, column: Index) -> Expression:
        return maximum(0, value + bias[column])

    return stored


@pytest.mark.parametrize(
    ("dtype", "total"), [(f32, f32), (f64, f64), (i8, i32), (i16, i32), (i32, i32), (i64, i64)]
)
def test_types(dtype: DType, total: DType) -> None:
    a, b = operands(SIZES, dtype)
    found = run(matmul_kernel(*SIZES[:3], dtype=dtype), a, b)
    assert found.dtype == total.numpy()
    assert accumulator_of(dtype) == total
    np.testing.assert_array_equal(found, product(a, b))


def test_sums_of_another_type() -> None:
    a, b = operands(SIZES, i8)
    found = run(matmul_kernel(*SIZES[:3], dtype=i8, accumulator=i64), a, b)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, product(a, b))


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_transposed(transpose_a: bool, transpose_b: bool) -> None:
    a, b = operands(SIZES)
    kernel = matmul_kernel(*SIZES[:3], transpose_a=transpose_a, transpose_b=transpose_b)
    left = np.ascontiguousarray(a.T) if transpose_a else a
    right = np.ascontiguousarray(b.T) if transpose_b else b
    np.testing.assert_array_equal(run(kernel, left, right), product(a, b))


def test_batch() -> None:
    sizes = SIZES._replace(batch=2)
    a, b = operands(sizes, stacked=True)
    kernel = matmul_kernel(*SIZES[:3], batch=2)
    assert sizes_of(kernel) == sizes
    np.testing.assert_array_equal(run(kernel, a, b), product(a, b))


def test_accumulate() -> None:
    a, b = operands(SIZES)
    out = np.ones((SIZES.m, SIZES.n), np.float32)
    compile(Schedule(matmul_kernel(*SIZES[:3], accumulate=True)), cache=NO_CACHE)(a, b, out)
    np.testing.assert_array_equal(out, product(a, b) + 1)


def test_epilogue() -> None:
    a, b = operands(SIZES)
    bias = np.arange(SIZES.n, dtype=np.float32)
    found = run(matmul_kernel(*SIZES[:3], epilogue=bias_and_relu), a, b, bias)
    np.testing.assert_array_equal(found, np.maximum(product(a, b) + bias, 0))


def test_order_of_the_sums_is_free() -> None:
    reduction = matmul_kernel(*SIZES[:3]).statements["update"].reduction
    assert reduction is not None
    assert reduction.order is Order.ANY


@pytest.mark.parametrize("name", ["m", "n", "k", "batch"])
def test_empty(name: str) -> None:
    sizes = {"m": 1, "n": 1, "k": 1, name: 0}
    with pytest.raises(KernelError, match=f"matmul: {name} is 0; expected a positive number"):
        matmul_kernel(**sizes)


def test_accumulate_and_epilogue() -> None:
    with pytest.raises(KernelError, match="no finished sum for an epilogue"):
        matmul_kernel(*SIZES[:3], accumulate=True, epilogue=bias_and_relu)


def test_sizes_of_another_kernel() -> None:
    build = KernelBuilder("other")
    x = build.output("x", f32, (4,))
    with build.loops(i=4) as i:
        x[i] = 0
    with pytest.raises(KernelError, match="'other' is no matrix product"):
        sizes_of(build.kernel())
