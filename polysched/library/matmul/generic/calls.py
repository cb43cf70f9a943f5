"""Calls of ``matmul`` of new shapes by size-generic kernels, until specialized code is ready."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import prod
from operator import mul
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.library.matmul.dispatch.compiled import host
from polysched.library.matmul.dispatch.dispatch import OperandKey, cached_dispatch, operand_key
from polysched.library.matmul.dispatch.shapes import NumpyArray, Shape
from polysched.library.matmul.generic.blocks import Block
from polysched.library.matmul.generic.compiled import KernelLoader, object_folder
from polysched.library.matmul.generic.plan import GenericPlan, generic_plan, stacked_plan
from polysched.library.matmul.generic.run import GenericProduct, loaded_product, strided
from polysched.library.matmul.generic.specialize import Specializer
from polysched.library.matmul.generic.strided import Strided
from polysched.library.matmul.kernel.epilogue import PLAIN
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, SIMPLE, WRITEABLE
from polysched.runtime.cache import ObjectCache
from polysched.runtime.kernel import LARGEST_TEAM
from polysched.runtime.memory import address, share_memory
from polysched.runtime.threads import usable_threads

GENERIC_CALLS = 4
"""Calls of one kind that run generic kernels before specialized code is compiled.

Compiling it takes as long as some 10,000 small calls. A kind that was called a few times will
mostly be called many times.
"""

MOST_STACKED = 64
"""Products of a stack, at most, that are computed one by one.

Each takes some 5 microseconds to plan. Larger stacks have kernels of their own at once.
"""

FEWEST_SHARED = 1 << 20
"""Multiplications of a stack from which on threads share it: some 20 microseconds of work."""

_KINDS = 4096
_WRITABLE = ALIGNED | WRITEABLE
_STACK = _WRITABLE | C_CONTIGUOUS
_TYPES = MappingProxyType({np.dtype(np.float32): f32, np.dtype(np.float64): f64})


@dataclass(eq=False)
class _Kind:
    """A kind of calls: its planned product, the result's shape, and how often it was called."""

    product: GenericProduct
    shape: Shape
    calls: int = 0


class _Planned(NamedTuple):
    """A plan, its product and number of threads, and the result's shape."""

    plan: GenericPlan
    product: Strided
    shape: Shape
    threads: int


class GenericCalls:
    """Calls by generic kernels, counted by kind.

    Args:
        specializer: makes specialized code in the background.
    """

    def __init__(self, specializer: Specializer) -> None:
        self.specializer = specializer
        self._kinds: dict[object, _Kind | None] = {}
        self._missing: list[Block] = []
        self._missed: set[str] = set()

    def run(
        self, a: NumpyArray, b: NumpyArray, out: Any, threads: int | None, specialize: bool | None
    ) -> NumpyArray | None:
        """Compute ``a @ b`` by generic kernels.

        Args:
            a: the left operand.
            b: the right operand.
            out: the result; None for a new array.
            threads: the most threads; None for as many as there are cores.
            specialize: None to have specialized code made in the background, False for none.

        Returns:
            the result; None if specialized code is to run, or if an argument does not fit.
        """
        if out is not None and type(out) is not np.ndarray:
            return None
        keys = _keys(a, b, threads, out)
        kind = self._kinds.get(keys)
        if kind is None:
            if keys in self._kinds and specialize is None:
                return None
            planned = _planned(a, b, out, threads)
            if planned is not None and specialize is None and self._lacks_kernels(planned.plan):
                planned = None  # later calls of this kind run the specialized code too
            kind = self._added(keys, planned)
        if kind is None or (specialize is None and self._is_specialized(kind, keys)):
            return None
        if out is None:
            result = np.empty(kind.shape, a.dtype)
        elif share_memory(a, out) or share_memory(b, out):
            return None  # the error is raised where specialized code would run
        else:
            result = out
        kind.product.run(_address(a), _address(b), _address(result))
        return result

    def is_served(
        self, a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
    ) -> bool:
        """Whether the last call of this kind ran generic kernels."""
        keys = _keys(a, b, threads, out)
        return self._kinds.get(keys) is not None and not self.specializer.is_done(keys)

    def make_missing(self) -> None:
        """Have the kernels made in the background that earlier calls lacked.

        It is called when specialized code has run in their place: two threads that compile share
        Python's lock, and the call would take twice as long.
        """
        while self._missing:
            block = self._missing.pop()
            self.specializer.submit(block, partial(_kernels(object_folder()).load, block))

    def _lacks_kernels(self, plan: GenericPlan) -> bool:
        """Load the kernels of a plan that are on disk, and note the others: whether some lack.

        Specialized code for one product is made faster than the blocks of most products. So it is
        made where a kernel lacks for the first time. At the second time the call makes the kernel,
        because many new shapes in a row would leave no time for the background.
        """
        kernels = _kernels(object_folder())
        blocks = {step.block.name: step.block for part in plan.parts for step in part}
        missing = [block for block in blocks.values() if not kernels.is_made(block)]
        new = [block for block in missing if block.name not in self._missed]
        self._missing += new
        self._missed.update(block.name for block in new)
        return bool(new)

    def _added(self, keys: object, planned: _Planned | None) -> _Kind | None:
        if len(self._kinds) >= _KINDS:
            self._kinds.clear()
        kind = None
        if planned is not None:
            plan, product, shape, threads = planned
            kernels = _kernels(object_folder())
            kind = _Kind(loaded_product(plan, product, kernels, threads), shape)
        self._kinds[keys] = kind
        return kind

    def _is_specialized(self, kind: _Kind, keys: tuple[Any, ...]) -> bool:
        """Count a call; returns whether specialized code is ready for it."""
        if kind.calls < GENERIC_CALLS:
            kind.calls += 1
            if kind.calls == GENERIC_CALLS:
                self.specializer.submit(keys, partial(_specialized, *keys))
            return False
        return self.specializer.is_done(keys)


def _keys(
    a: NumpyArray, b: NumpyArray, threads: int | None, out: NumpyArray | None
) -> tuple[OperandKey, OperandKey, int | None, OperandKey | None]:
    return operand_key(a), operand_key(b), threads, None if out is None else operand_key(out)


def _specialized(
    a: OperandKey, b: OperandKey, threads: int | None, out: OperandKey | None
) -> object:
    """Make the specialized code, as the call of ``matmul`` looks it up."""
    is_plain = out is None or out[2] & C_CONTIGUOUS
    return cached_dispatch(a, b, threads, PLAIN, None, None if is_plain else out, None, ())


def _address(array: NumpyArray) -> int:
    return address(array, array.flags.num & SIMPLE == SIMPLE)


def _planned(
    a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
) -> _Planned | None:
    """Plan a kind of calls; None if no generic kernel computes it, or an argument does not fit."""
    dtype = _TYPES.get(a.dtype)
    if dtype is None or a.dtype != b.dtype:
        return None
    if not _fit(a, b):
        return _planned_stack(dtype, a, b, out, threads)
    shape = (*a.shape[:-1], *b.shape[1:])
    if out is None:
        whole: NumpyArray = np.empty(shape, a.dtype)
    elif out.shape != shape or out.dtype != a.dtype or out.flags.num & _WRITABLE != _WRITABLE:
        return None
    else:
        whole = out
    left, right = a.reshape(-1, a.shape[-1]) if a.ndim != 2 else a, b
    right = b[:, None] if b.ndim == 1 else b
    if whole.ndim != 2 or 1 in (a.ndim, b.ndim):
        if a.ndim > 2 and not whole.flags.c_contiguous:
            return None
        whole = _as_matrix(whole, left.shape[0], right.shape[1])
    product = strided(dtype, left, right, whole)
    if product is None:
        return None
    count = min(threads or usable_threads(), LARGEST_TEAM)
    plan = generic_plan(product, host(), count)
    return None if plan is None else _Planned(plan, product, shape, count)


def _planned_stack(
    dtype: DType, a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
) -> _Planned | None:
    """Plan a stack of a few products, which are computed one by one."""
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-2] or not (a.size and b.size):
        return None
    try:
        stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return None
    shape = (*stack, a.shape[-2], b.shape[-1])
    whole: NumpyArray = np.empty(shape, a.dtype) if out is None else out
    is_written = whole.flags.num & _STACK == _STACK and whole.shape == shape
    if not is_written or whole.dtype != a.dtype or prod(stack) > MOST_STACKED:
        return None
    if not (a.flags.aligned and b.flags.aligned):
        return None
    arrays = [np.broadcast_to(array, (*stack, *array.shape[-2:])) for array in (a, b, whole)]
    first = (0,) * len(stack)
    product = strided(dtype, *(array[first] for array in arrays))
    steps = [[stride // dtype.bytes for stride in array.strides] for array in arrays]
    plan = None if product is None else generic_plan(product, host(), 1)
    if product is None or plan is None:
        return None
    starts = [
        tuple(sum(map(mul, index, strides)) for strides in steps) for index in np.ndindex(*stack)
    ]
    count = min(threads or usable_threads(), LARGEST_TEAM)
    flops = prod(stack) * product.m * product.n * product.k
    is_long = count > 1 and flops >= FEWEST_SHARED
    return _Planned(stacked_plan(plan, starts, 2 * count if is_long else 1), product, shape, count)


def _fit(a: NumpyArray, b: NumpyArray) -> bool:
    """Whether the operands are a matrix, a vector or a stack, and a matrix or a vector."""
    if not (1 <= b.ndim <= 2 and a.ndim and a.shape[-1] == b.shape[0]):
        return False
    is_stack = a.ndim > 2
    if not (a.size and b.size and a.flags.aligned and b.flags.aligned):
        return False
    return a.flags.c_contiguous or not is_stack


def _as_matrix(whole: NumpyArray, rows: int, columns: int) -> NumpyArray:
    """A view of the result as a matrix; its last or its only dimension may have a stride."""
    if whole.ndim == 1:
        return whole[None, :] if rows == 1 else whole[:, None]
    return whole.reshape(rows, columns)


@cache
def _kernels(folder: ObjectCache) -> KernelLoader:
    return KernelLoader(host(), folder)
