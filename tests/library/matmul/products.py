"""Products to test with: operands of small integers, whose sums are exact in every type."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.ir.dtypes import DType, f32
from polysched.ir.kernel import Kernel
from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import Sizes, sizes_of
from polysched.library.matmul.schedule import matmul_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.user import Schedule
from tests.support.differential import NO_CACHE

AnyArray = np.ndarray[Any, Any]
HOST = load_machine(None)


def operands(sizes: Sizes, dtype: DType = f32, *, stacked: bool = False) -> tuple[AnyArray, ...]:
    """``a[m, k]`` and ``b[k, n]``, or stacks of them, with values from -8 to 7."""
    generator = np.random.default_rng(sum(sizes))
    outer = (sizes.batch,) if stacked else ()
    shapes = ((*outer, sizes.m, sizes.k), (*outer, sizes.k, sizes.n))
    return tuple(generator.integers(-8, 8, shape).astype(dtype.numpy()) for shape in shapes)


def product(a: AnyArray, b: AnyArray) -> AnyArray:
    """The right product, exactly."""
    exact: AnyArray = a.astype(np.int64) @ b.astype(np.int64)
    return exact


def scheduled(kernel: Kernel, config: Config) -> Schedule:
    """The kernel with a config, for this machine."""
    return matmul_schedule(kernel, config, HOST)


def assert_right(
    kernel: Kernel, config: Config, *inputs: AnyArray, expected: AnyArray, **options: int
) -> None:
    """Check that a config is proved legal, and that its code computes ``expected``."""
    schedule = scheduled(kernel, config)
    assert schedule.check().is_legal
    run = compile(schedule, HOST, cache=NO_CACHE)
    np.testing.assert_array_equal(run(*inputs, **options), expected)


def assert_product(kernel: Kernel, config: Config, **options: int) -> None:
    """The same for a kernel that is nothing but a product; its operands may be transposed."""
    sizes, arrays = sizes_of(kernel), kernel.arrays
    is_stack = "batch" in arrays["a"].dimensions
    a, b = operands(sizes, arrays["a"].dtype, stacked=is_stack)
    stored_a = a.swapaxes(-1, -2) if arrays["a"].dimensions[-1] == "m" else a
    stored_b = b.swapaxes(-1, -2) if arrays["b"].dimensions[-1] == "k" else b
    inputs = (np.ascontiguousarray(stored_a), np.ascontiguousarray(stored_b))
    assert_right(kernel, config, *inputs, expected=product(a, b), **options)
