"""Products to test with: operands of small integers, whose sums are exact in every type."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, i8
from polysched.ir.expr.functions import cast, maximum
from polysched.library.matmul.kernel.declare import (
    EpilogueBuilder,
    EpilogueFunction,
    Sizes,
    sizes_of,
)
from polysched.library.matmul.kernel.operands import ComputedOperand, Element, Producer, Stored
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.user import Schedule
from tests.support.differential import NO_CACHE

AnyArray = np.ndarray[Any, Any]
HOST = load_machine(None)
AVX512 = load_machine("skylake-avx512")
WIDE = replace(
    HOST, vector_registers=AVX512.vector_registers * AVX512.vector_bits // HOST.vector_bits
)
"""The host, planned for as if its registers held as much as AVX-512's; LLVM spills the rest."""
TRANSPOSED = Stored(is_transposed=True)


def operands(sizes: Sizes, dtype: DType = f32, *, stacked: bool = False) -> tuple[AnyArray, ...]:
    """``a[m, k]`` and ``b[k, n]``, or stacks of them, with values from -8 to 7."""
    generator = np.random.default_rng(sum(sizes))
    outer = (sizes.batch,) if stacked else ()
    shapes = ((*outer, sizes.m, sizes.k), (*outer, sizes.k, sizes.n))
    return tuple(generator.integers(-8, 8, shape).astype(dtype.numpy()) for shape in shapes)


def bias_and_relu(columns: int) -> EpilogueBuilder:
    """An epilogue: an f32 for each column is added, then negative numbers become 0."""

    def declared(build: KernelBuilder) -> EpilogueFunction:
        bias = build.input("bias", f32, (columns,))
        return lambda done: maximum(0, done.value + bias[done.column])

    return declared


def codes_by_rows(sizes: Sizes) -> Producer:
    """``a`` as int8 ``codes`` by an f32 ``scale`` of each row."""

    def declared(build: KernelBuilder) -> Element:
        codes = build.input("codes", i8, (sizes.m, sizes.k))
        scale = build.input("scale", f32, (sizes.m,))
        return lambda row, term: cast(codes[row, term], f32) * scale[row]

    return declared


def codes_by_columns(sizes: Sizes) -> Producer:
    """``b`` as int8 ``weights``, transposed, by an f32 ``gain`` of each column."""

    def declared(build: KernelBuilder) -> Element:
        weights = build.input("weights", i8, (sizes.n, sizes.k))
        gain = build.input("gain", f32, (sizes.n,))
        return lambda term, column: cast(weights[column, term], f32) * gain[column]

    return declared


COMPUTED = ComputedOperand(codes_by_rows(Sizes(1, 1, 1)))


def coded_operands(sizes: Sizes) -> dict[str, AnyArray]:
    """The inputs of both producers."""
    a, b = operands(sizes, i8)
    scale = 1 + np.arange(sizes.m, dtype=np.float32) % 3
    gain = 2 - np.arange(sizes.n, dtype=np.float32) % 4
    return {"codes": a, "scale": scale, "weights": np.ascontiguousarray(b.T), "gain": gain}


def coded_product(inputs: dict[str, AnyArray]) -> AnyArray:
    """What they make, exactly."""
    a = inputs["codes"] * inputs["scale"][:, None]
    b = inputs["weights"].T * inputs["gain"]
    return product(a, b)


def product(a: AnyArray, b: AnyArray) -> AnyArray:
    """The right product, exactly."""
    exact: AnyArray = a.astype(np.int64) @ b.astype(np.int64)
    return exact


@lru_cache(maxsize=8)
def scheduled(kernel: Kernel, config: Config, machine: Machine = WIDE) -> Schedule:
    """The kernel with a config, for this machine or another; a test asks for one several times."""
    return matmul_schedule(kernel, config, machine)


def assert_right(
    kernel: Kernel, config: Config, *inputs: AnyArray, expected: AnyArray, **options: int
) -> None:
    """Check that a config is proved legal, and that its code computes ``expected``."""
    schedule = scheduled(kernel, config)
    assert schedule.check().is_legal
    run = compile(schedule, WIDE, cache=NO_CACHE)
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
