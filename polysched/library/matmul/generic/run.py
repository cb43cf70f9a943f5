"""Run products by size-generic kernels: plan, load the machine code, call it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from polysched.library.matmul.generic.compiled import KernelLoader
from polysched.library.matmul.generic.plan import GenericPlan
from polysched.library.matmul.generic.steps import RECORD_BYTES, encoded
from polysched.library.matmul.generic.strided import Strided
from polysched.runtime.bound_call import no_workspace
from polysched.runtime.threads import current_team, running_calls

_WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class GenericProduct(NamedTuple):
    """A planned product whose machine code is loaded.

    Attributes:
        is_swapped: whether the kernel takes the right operand first.
        parts: the records of steps, in order; parts may run at the same time.
        scratch: bytes of scratch memory for each part.
    """

    is_swapped: bool
    parts: tuple[bytes, ...]
    scratch: int
    threads: int
    kernels: KernelLoader

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
        pointers = map(ctypes.c_void_p, (*addresses, 0))
        count = ctypes.c_int64(len(part) // RECORD_BYTES)
        return partial(self.kernels.runner, *pointers, part, count)

    def _run_part(self, part: bytes, addresses: tuple[int, int, int]) -> None:
        memory = np.empty(self.scratch + 64, np.uint8) if self.scratch else None
        scratch = 0 if memory is None else -(-memory.ctypes.data // 64) * 64
        if self.kernels.runner(*addresses, scratch, part, len(part) // RECORD_BYTES):
            raise no_workspace("matmul")


def loaded_product(
    plan: GenericPlan, element_bytes: int, threads: int, kernels: KernelLoader
) -> GenericProduct:
    """Load the kernels of a plan; those that are not on disk are proved and compiled."""
    parts = tuple([encoded(part, kernels.address, element_bytes) for part in plan.parts])
    return GenericProduct(plan.is_swapped, parts, plan.scratch * element_bytes, threads, kernels)


def strided(
    size: int,
    sizes: tuple[int, int, int],
    a: tuple[int, ...],
    b: tuple[int, ...],
    out: tuple[int, ...],
) -> Strided | None:
    """Describe a product of matrices; None if a stride is negative or zero, or elements overlap.

    Args:
        size: bytes of an element.
        sizes: rows, columns and terms.
        a: the strides of the left operand, in bytes.
        b: those of the right operand.
        out: those of the result.
    """
    m, n, k = sizes
    left, right, result = _steps(m, k, a, size), _steps(k, n, b, size), _steps(m, n, out, size)
    if left is None or right is None or result is None:
        return None
    return Strided(m, n, k, *left, *right, *result)


def _steps(rows: int, columns: int, strides: tuple[int, ...], size: int) -> tuple[int, int] | None:
    """The strides of a matrix in elements; None if no kernel takes it."""
    down, across = strides
    # A dimension of one element has any stride; it gets that of an array without gaps.
    if columns == 1:
        across = size if rows == 1 or down >= size else 0
    if rows == 1:
        down = columns * across
    if down <= 0 or across <= 0 or down % size or across % size:
        return None
    if down < columns * across and across < rows * down:
        return None
    return down // size, across // size
