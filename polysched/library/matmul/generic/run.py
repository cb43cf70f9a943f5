"""Run products by size-generic kernels: plan, load the machine code, call it."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.dispatch.shapes import NumpyArray
from polysched.library.matmul.generic.compiled import KernelLoader
from polysched.library.matmul.generic.plan import GenericPlan
from polysched.library.matmul.generic.steps import RECORD, Call, encoded
from polysched.library.matmul.generic.strided import Strided
from polysched.runtime.bound_call import no_workspace
from polysched.runtime.threads import current_team, running_calls

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@dataclass(frozen=True)
class GenericProduct:
    """A planned product whose machine code is loaded.

    Attributes:
        is_swapped: whether the kernel takes the right operand first.
        parts: calls, in order; parts may run at the same time.
        scratch: bytes of scratch memory for each part.
        threads: the threads to use.
        runner: the function of :mod:`polysched.library.matmul.generic.steps`.
        code: the kernels, which are kept loaded.
    """

    is_swapped: bool
    parts: Sequence[array[int]]
    scratch: int
    threads: int
    runner: Callable[..., int]
    code: Sequence[object]

    def run(self, a: int, b: int, out: int) -> None:
        """Compute the product of arrays with the planned strides, given their addresses.

        Raises:
            OutOfMemoryError: there is no memory for a workspace.
        """
        addresses = (b, a, out) if self.is_swapped else (a, b, out)
        if len(self.parts) == 1:
            self._run_part(self.parts[0], addresses)
            return
        waiting, failures = list(reversed(self.parts)), list[BaseException]()

        def work(_: Any) -> None:
            try:
                while waiting:
                    self._run_part(waiting.pop(), addresses)
            except IndexError:  # another thread took the last part
                return
            except BaseException as error:  # noqa: BLE001  (nothing may leave a C callback)
                failures.append(error)

        with running_calls():
            function = _WORK(work)
            pointer = ctypes.cast(function, ctypes.c_void_p)
            current_team().parallel(pointer, None, self.threads, 0)
        if failures:
            raise failures[0]

    def bound(self, a: int, b: int, out: int) -> Callable[[], int]:
        """A function that computes the only part of a product, which needs no scratch memory."""
        (part,) = self.parts
        assert not self.scratch
        addresses = (b, a, out) if self.is_swapped else (a, b, out)
        # ctypes objects are passed faster than integers.
        pointers = map(ctypes.c_void_p, (*addresses, 0, part.buffer_info()[0]))
        return partial(self.runner, *pointers, ctypes.c_int64(len(part) // RECORD))

    def _run_part(self, part: array[int], addresses: tuple[int, int, int]) -> None:
        memory = np.empty(self.scratch + 64, np.uint8) if self.scratch else None
        scratch = 0 if memory is None else -(-memory.ctypes.data // 64) * 64
        steps, numbers = part.buffer_info()
        if self.runner(*addresses, scratch, steps, numbers // RECORD):
            raise no_workspace("matmul")


def loaded_product(
    plan: GenericPlan, product: Strided, kernels: KernelLoader, threads: int
) -> GenericProduct:
    """Load the kernels of a plan; those that are not on disk are proved and compiled."""
    size, code = product.dtype.bytes, dict[int, object]()
    parts = []
    for part in plan.parts:
        calls = []
        for block, arrays, starts, parameters in part:
            native, address = kernels.load(block)
            code[address] = native
            calls.append(Call(address, arrays, [size * at for at in starts], parameters))
        parts.append(encoded(calls))
    scratch, used = plan.scratch * size, tuple(code.values())
    return GenericProduct(plan.is_swapped, parts, scratch, threads, kernels.runner, used)


def strided(dtype: DType, a: NumpyArray, b: NumpyArray, out: NumpyArray) -> Strided | None:
    """Describe a product of matrices; None if a stride is negative or zero, or elements overlap."""
    (m, k), (_, n), size = a.shape, b.shape, dtype.bytes
    strides = []
    for rows, columns, (down, across) in (
        (m, k, a.strides),
        (k, n, b.strides),
        (m, n, out.strides),
    ):
        # A dimension of one element has any stride; it gets that of an array without gaps.
        if columns == 1:
            across = size if rows == 1 or down >= size else 0  # noqa: PLW2901
        if rows == 1:
            down = columns * across  # noqa: PLW2901
        if down <= 0 or across <= 0 or down % size or across % size:
            return None
        if down < columns * across and across < rows * down:
            return None
        strides += [down // size, across // size]
    return Strided(dtype, m, n, k, *strides)
