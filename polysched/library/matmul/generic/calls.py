"""Calls of ``matmul`` of new shapes by size-generic kernels, until specialized code is ready."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from math import prod
from operator import mul
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from polysched.ir.expr.dtypes import f32, f64
from polysched.library.matmul.dispatch.compiled import host
from polysched.library.matmul.dispatch.dispatch import (
    OperandKey,
    cached_dispatch,
    operand_key,
    output_key,
)
from polysched.library.matmul.dispatch.shapes import NumpyArray, Shape
from polysched.library.matmul.generic.blocks import Block
from polysched.library.matmul.generic.compiled import KernelLoader, object_folder
from polysched.library.matmul.generic.plan import GenericPlan, Planner, stacked_plan
from polysched.library.matmul.generic.run import GenericProduct, loaded_product, strided
from polysched.library.matmul.generic.specialize import Specializer
from polysched.library.matmul.kernel.epilogue import PLAIN
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, WRITEABLE, is_simple, layout_of
from polysched.runtime.kernel import LARGEST_TEAM
from polysched.runtime.memory import addresses, share_memory, simple_addresses
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
"""Least multiplications of a stack that threads share: some 20 microseconds of work."""

_KINDS = 4096
_WRITABLE = ALIGNED | WRITEABLE
_STACK = _WRITABLE | C_CONTIGUOUS
_TYPES = MappingProxyType({np.dtype(np.float32): f32, np.dtype(np.float64): f64})


@dataclass(eq=False, slots=True)
class _Kind:
    """A kind of calls.

    Kinds are kept, so they consist of few objects that Python's collector visits: a collection of
    all objects takes as long as 50 to 300 plans.

    Attributes:
        product: the planned product; None if calls of this kind run specialized code.
        is_simple: whether the addresses of all arrays are found fast.
    """

    product: GenericProduct | None = None
    shape: Shape = ()
    is_simple: bool = False
    calls: int = 0


_Planned: TypeAlias = tuple[GenericPlan, int, Shape]
"""A plan, the number of threads, and the result's shape."""


class GenericCalls:
    """Calls by generic kernels, counted by kind.

    Args:
        specializer: makes specialized code in the background.
    """

    def __init__(self, specializer: Specializer) -> None:
        self.specializer = specializer
        self._kinds: dict[object, _Kind] = {}
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
        key = _key(a, b, threads, out)
        kind = self._kinds.get(key)
        if kind is None or (kind.product is None and specialize is not None):
            kind = self._new_kind(a, b, out, threads, specialize)
            if len(self._kinds) >= _KINDS:
                self._kinds.clear()
            self._kinds[key] = kind
        product = kind.product
        if product is None:
            return None
        if specialize is None:
            if kind.calls >= GENERIC_CALLS and self.specializer.is_done(key):
                return None
            kind.calls += 1
            if kind.calls == GENERIC_CALLS:
                left, right, to = operand_key(a), operand_key(b), output_key(out)
                make = partial(_specialized, left, right, threads, to)
                self.specializer.submit(key, make)
        if out is None:
            result = np.empty(kind.shape, a.dtype)
        elif share_memory(a, out) or share_memory(b, out):
            return None  # the error is raised where specialized code would run
        else:
            result = out
        product.run(*(simple_addresses if kind.is_simple else addresses)((a, b, result)))
        return result

    def _new_kind(
        self, a: NumpyArray, b: NumpyArray, out: Any, threads: int | None, specialize: bool | None
    ) -> _Kind:
        """Plan a kind of calls; without a product if this and later calls run specialized code."""
        planned = _planned(a, b, out, threads)
        if planned is None or (specialize is None and self._lacks_kernels(planned[0])):
            return _Kind()
        plan, count, shape = planned
        product = loaded_product(plan, a.itemsize, count, _kernels())
        given = (a, b) if out is None else (a, b, out)
        return _Kind(product, shape, all(map(is_simple, map(layout_of, given))))

    def is_served(
        self, a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
    ) -> bool:
        """Whether the last call of this kind ran generic kernels."""
        key = _key(a, b, threads, out)
        kind = self._kinds.get(key)
        is_generic = kind is not None and kind.product is not None
        return is_generic and not self.specializer.is_done(key)

    def make_missing(self) -> None:
        """Have the kernels made in the background that earlier calls lacked.

        It is called when specialized code has run in their place: two threads that compile share
        Python's lock, and the call would take twice as long.
        """
        while self._missing:
            block = self._missing.pop()
            self.specializer.submit(block, partial(_kernels().address, block))

    def _lacks_kernels(self, plan: GenericPlan) -> bool:
        """Load the kernels of a plan that are on disk, and note the others: whether some lack.

        Specialized code for one product is made faster than the blocks of most products. So it is
        made where a kernel lacks for the first time. At the second time the call makes the kernel,
        because many new shapes in a row would leave no time for the background.
        """
        is_made, has_new = _kernels().is_made, False
        for part in plan.parts:
            for step in part:
                if not is_made(step.block) and step.block.name not in self._missed:
                    self._missing.append(step.block)
                    self._missed.add(step.block.name)
                    has_new = True
        return has_new


def _key(
    a: NumpyArray, b: NumpyArray, threads: int | None, out: NumpyArray | None
) -> tuple[object, ...]:
    """A tuple of numbers and types for the layouts of the arrays, without tuples in it."""
    key = (
        *(threads, a.dtype, a.ndim, a.flags.num, *a.shape, *a.strides),
        *(b.dtype, b.ndim, b.flags.num, *b.shape, *b.strides),
    )
    return key if out is None else (*key, out.dtype, out.flags.num, *out.shape, *out.strides)


def _specialized(
    a: OperandKey, b: OperandKey, threads: int | None, out: OperandKey | None
) -> object:
    """Make the specialized code, as the call of ``matmul`` looks it up."""
    return cached_dispatch(a, b, threads, PLAIN, None, out, None, ())


def _planned(
    a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
) -> _Planned | None:
    """Plan a kind of calls; None if no generic kernel computes it, or an argument does not fit."""
    planner = _planner(a.dtype)
    if planner is None or a.dtype != b.dtype:
        return None
    if not _fit(a, b):
        return _planned_stack(planner, a, b, out, threads)
    shape = (*a.shape[:-1], *b.shape[1:])
    k, n, size = a.shape[-1], b.shape[1] if b.ndim == 2 else 1, planner.size
    left: tuple[int, ...] = k * size, size
    to: tuple[int, ...] = n * size, size
    if out is not None and not _takes(out, shape, a):
        return None
    if a.ndim <= 2:
        left = _strides_of_matrix(a, size)
        to = to if out is None else _strides_of_matrix(out, size)
    product = strided(size, (a.size // k, n, k), left, _strides_of_matrix(b, size), to)
    if product is None:
        return None
    count = min(threads or usable_threads(), LARGEST_TEAM)
    plan = planner.plan(product, count)
    return None if plan is None else (plan, count, shape)


def _planned_stack(
    planner: Planner, a: NumpyArray, b: NumpyArray, out: NumpyArray | None, threads: int | None
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
    sizes, size = (a.shape[-2], b.shape[-1], a.shape[-1]), planner.size
    left, right, to = (array.strides[-2:] for array in arrays)
    product = strided(size, sizes, left, right, to)
    steps = [[stride // size for stride in array.strides] for array in arrays]
    plan = None if product is None else planner.plan(product, 1)
    if product is None or plan is None:
        return None
    starts = [
        tuple(sum(map(mul, index, strides)) for strides in steps) for index in np.ndindex(*stack)
    ]
    count = min(threads or usable_threads(), LARGEST_TEAM)
    flops = prod((*stack, *sizes))
    is_long = count > 1 and flops >= FEWEST_SHARED
    plan = stacked_plan(plan, starts, 2 * count if is_long else 1)
    return plan, count, shape


def _fit(a: NumpyArray, b: NumpyArray) -> bool:
    """Whether the operands are a matrix, a vector or a stack, and a matrix or a vector."""
    if not (1 <= b.ndim <= 2 and a.ndim and a.shape[-1] == b.shape[0]):
        return False
    is_stack = a.ndim > 2
    if not (a.size and b.size and a.flags.aligned and b.flags.aligned):
        return False
    return a.flags.c_contiguous or not is_stack


def _takes(out: NumpyArray, shape: Shape, a: NumpyArray) -> bool:
    """Whether the result can be written to ``out``; that of a stack has no gaps."""
    is_written = out.flags.num & _WRITABLE == _WRITABLE and (a.ndim <= 2 or out.flags.c_contiguous)
    return is_written and out.shape == shape and out.dtype == a.dtype


def _strides_of_matrix(array: NumpyArray, size: int) -> tuple[int, ...]:
    return ((array.strides or (size,)) * 2)[:2]


@cache
def _planner(dtype: np.dtype[Any]) -> Planner | None:
    """The planner of an element type; None if its products have no generic kernels."""
    known = _TYPES.get(dtype)
    return None if known is None else Planner(host(), known)


@cache
def _kernels() -> KernelLoader:
    return KernelLoader(host(), object_folder)
