"""The matrix product as a kernel: what is computed, with no word on how."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from polysched.errors import KernelError
from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.dtypes import DType, f32, i32
from polysched.ir.expressions import Constant, Expression, Index, cast
from polysched.ir.kernel import Kernel

Elementwise = Callable[[Expression, Index, Index], Expression]
"""The value to store, from a finished sum and its row and column."""

Epilogue = Callable[[KernelBuilder], Elementwise]
"""Declares the further inputs of what becomes of the sums, and returns what that is."""


class Sizes(NamedTuple):
    """``m`` rows and ``n`` columns of the product, ``k`` terms a sum, ``batch`` products."""

    m: int
    n: int
    k: int
    batch: int = 1


def matmul_kernel(  # noqa: PLR0913  (sizes, and options by keyword)
    m: int,
    n: int,
    k: int,
    *,
    dtype: DType = f32,
    accumulator: DType | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    batch: int | None = None,
    accumulate: bool = False,
    epilogue: Epilogue | None = None,
) -> Kernel:
    """The kernel ``out[m,n] = sum over k of a[m,k] * b[k,n]``; the order of each sum is free.

    Arrays, C-contiguous: ``a[m, k]``, ``b[k, n]`` and ``out[m, n]``, each with the batch in front
    if there is one. The statements are ``init``, ``update`` and, with an epilogue, ``epilogue``.

    Args:
        m: rows of the product, at least 1.
        n: its columns, at least 1.
        k: terms of each sum, at least 1.
        dtype: elements of ``a`` and ``b``.
        accumulator: elements of ``out``, and of the sums; by default ``dtype``, and i32 for the
            integers of 8 and 16 bits.
        transpose_a: whether ``a`` is stored as ``a[k, m]``.
        transpose_b: whether ``b`` is stored as ``b[n, k]``.
        batch: how many products are computed; None for one, without a dimension for it.
        accumulate: whether the product is added to what ``out`` holds.
        epilogue: what becomes of each sum before it is stored; without it, nothing.

    Raises:
        KernelError: a size is not positive, or two options exclude each other.
    """
    for name, size in {"m": m, "n": n, "k": k, "batch": 1 if batch is None else batch}.items():
        if size < 1:
            raise KernelError(f"matmul: {name} is {size}; expected a positive number")
    if accumulate and epilogue is not None:
        raise KernelError(
            "matmul: accumulate=True adds to 'out' itself, so there is no finished sum for an "
            "epilogue; read the old values in the epilogue, from an input of its own"
        )
    total = accumulator or accumulator_of(dtype)
    outer, letter = ((), "") if batch is None else ((batch,), "batch ")
    build = KernelBuilder("matmul")
    a_shape, a_names = ((k, m), "k m") if transpose_a else ((m, k), "m k")
    b_shape, b_names = ((n, k), "n k") if transpose_b else ((k, n), "k n")
    a = build.input("a", dtype, (*outer, *a_shape), dimensions=letter + a_names)
    b = build.input("b", dtype, (*outer, *b_shape), dimensions=letter + b_names)

    def declared(
        declare: Callable[..., ArrayHandle], name: str, shape: tuple[int, ...] = (*outer, m, n)
    ) -> ArrayHandle:
        return declare(name, total, shape, dimensions=f"{letter}m n")

    elementwise = None if epilogue is None else epilogue(build)
    if elementwise is not None:
        sums, out = declared(build.temporary, "sums"), declared(build.output, "out")
    else:
        sums = out = declared(build.inout if accumulate else build.output, "out")

    around = {} if batch is None else {"batch": batch}
    if not accumulate:
        with build.loops(**around, m=m, n=n) as at, build.statement("init"):
            sums[at] = 0
    with build.loops(**around, m=m, n=n, k=k) as (*at_batch, row, column, term):
        left = a[(*at_batch, *((term, row) if transpose_a else (row, term)))]
        right = b[(*at_batch, *((column, term) if transpose_b else (term, column)))]
        with build.statement("update", order="any"):
            sums[(*at_batch, row, column)] += cast(left, total) * cast(right, total)
    if elementwise is not None:
        with build.loops(**around, m=m, n=n) as at, build.statement("epilogue"):
            out[at] = elementwise(sums[at], at[-2], at[-1])
    return build.kernel()


def accumulator_of(dtype: DType) -> DType:
    """The type of the sums of products of ``dtype``: wider, for small integers."""
    return i32 if dtype.is_integer and dtype.bits < i32.bits else dtype


def sizes_of(kernel: Kernel) -> Sizes:
    """The sizes of a kernel that :func:`matmul_kernel` declared.

    Raises:
        KernelError: it is another kernel.
    """
    found: dict[str, int] = {}
    for name in ("a", "b"):
        array = kernel.arrays.get(name)
        for dimension, extent in zip(array.dimensions, array.shape, strict=True) if array else ():
            if isinstance(extent, Constant):
                found[dimension] = int(extent.value)
    if "update" not in kernel.statements or not {"m", "n", "k"} <= found.keys():
        raise KernelError(
            f"kernel '{kernel.name}' is no matrix product; expected one of matmul_kernel()"
        )
    return Sizes(found["m"], found["n"], found["k"], found.get("batch", 1))
