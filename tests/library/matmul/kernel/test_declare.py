import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i8, i16, i32, i64
from polysched.library.matmul.kernel.declare import (
    Sizes,
    Stack,
    accumulator_of,
    matmul_kernel,
    sizes_of,
    stack_loops,
)
from polysched.library.matmul.kernel.operands import ComputedOperand, Stored
from polysched.lower import compile
from polysched.user import Schedule
from tests.library.matmul.products import (
    bias_and_relu,
    coded_operands,
    coded_product,
    codes_by_columns,
    codes_by_rows,
    operands,
    product,
)
from tests.support.differential import NO_CACHE

SIZES = Sizes(3, 5, 4)


def run(kernel: Kernel, *inputs: np.ndarray) -> np.ndarray:
    return compile(Schedule(kernel), cache=NO_CACHE)(*inputs)


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
    kernel = matmul_kernel(*SIZES[:3], a=Stored(transpose_a), b=Stored(transpose_b))
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
    found = run(matmul_kernel(*SIZES[:3], epilogue=bias_and_relu(SIZES.n)), a, b, bias)
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


def test_an_epilogue_may_use_what_is_there() -> None:
    a, b = operands(SIZES)
    out = np.ones((SIZES.m, SIZES.n), np.float32)
    kernel = matmul_kernel(
        *SIZES[:3], accumulate=True, epilogue=lambda _: lambda done: done.value - 2 * done.old
    )
    run(kernel, a, b, out)
    np.testing.assert_array_equal(out, product(a, b) - 2)


def test_computed_operands() -> None:
    kernel = matmul_kernel(
        *SIZES[:3],
        a=ComputedOperand(codes_by_rows(SIZES)),
        b=ComputedOperand(codes_by_columns(SIZES)),
    )
    assert sizes_of(kernel) == SIZES
    assert list(kernel.statements) == ["produce_a", "produce_b", "init", "update"]
    inputs = coded_operands(SIZES)
    found = compile(Schedule(kernel), cache=NO_CACHE)(**inputs)
    np.testing.assert_array_equal(found, coded_product(inputs))


def test_an_operand_that_stands_in_the_sums() -> None:
    a, b = (
        ComputedOperand(codes_by_rows(SIZES), is_inlined=True),
        ComputedOperand(codes_by_columns(SIZES)),
    )
    kernel = matmul_kernel(*SIZES[:3], a=a, b=b)
    assert list(kernel.statements) == ["produce_b", "init", "update"]
    assert "a" not in kernel.arrays
    inputs = coded_operands(SIZES)
    found = compile(Schedule(kernel), cache=NO_CACHE)(**inputs)
    np.testing.assert_array_equal(found, coded_product(inputs))


STACKS = [
    (Stack(2), Stack(3)),
    (Stack(2, of_a=False),),
    (Stack(2, of_b=False), Stack(3)),
    (Stack(2, of_b=False), Stack(3, of_a=False)),
]


@pytest.mark.parametrize("stacks", STACKS, ids=str)
def test_stacks(stacks: tuple[Stack, ...]) -> None:
    a, b = stacked_operands(stacks, SIZES)
    kernel = matmul_kernel(*SIZES[:3], batch=stacks)
    assert sizes_of(kernel) == SIZES._replace(batch=np.prod([stack.extent for stack in stacks]))
    assert stack_loops(kernel) == ("batch", "batch_2")[: len(stacks)]
    inputs = (without_repeats(a, SIZES.m), without_repeats(b, SIZES.k))
    np.testing.assert_array_equal(run(kernel, *inputs), product(a, b))


def stacked_operands(stacks: tuple[Stack, ...], sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Operands to be broadcast: of one matrix in a dimension where the kernel takes one."""
    generator = np.random.default_rng(0)
    outer_a = [stack.extent if stack.of_a else 1 for stack in stacks]
    outer_b = [stack.extent if stack.of_b else 1 for stack in stacks]
    shapes = ((*outer_a, sizes.m, sizes.k), (*outer_b, sizes.k, sizes.n))
    a, b = (generator.integers(-8, 8, shape).astype(np.float32) for shape in shapes)
    return a, b


def without_repeats(operand: np.ndarray, rows: int) -> np.ndarray:
    """An operand without the dimensions of one matrix, as the kernel takes it."""
    outer = [extent for extent in operand.shape[:-2] if extent > 1]
    return operand.reshape(*outer, rows, operand.shape[-1])


def test_sizes_of_another_kernel() -> None:
    build = KernelBuilder("other")
    x = build.output("x", f32, (4,))
    with build.loops(i=4) as i:
        x[i] = 0
    with pytest.raises(KernelError, match="'other' is no matrix product"):
        sizes_of(build.kernel())
