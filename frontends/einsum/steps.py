"""Steps of a contraction: contract two operands, or sum labels of one operand.

================================================  ===============================================
labels are summed, one operand has further ones   a (batched) matrix product of the library
labels are summed, all others are in both         a dot product of the library for each element
labels of one operand are summed                  a sum along an axis, by the library
nothing is summed                                 an elementwise product, a single vector loop
================================================  ===============================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from polysched.frontends.einsum.direct_call import KernelRun, kernel_run
from polysched.frontends.einsum.operands import Labels, NumpyArray
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.fold import fold_kernel, fold_schedule
from polysched.library.matmul.dispatch.call import matmul, specialized_target
from polysched.library.matmul.dispatch.dispatch import WORTH_A_STACK
from polysched.library.matmul.dispatch.options import result_type
from polysched.library.reduce import Axis, Combine, reduce_kernel, reduce_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule

_KERNELS = 512


@dataclass(frozen=True)
class _Side:
    """Labels that only one operand has.

    Attributes:
        outer: batch dimensions of the matrix product.
        inner: rows (of the first operand) or columns (of the second) of its matrices.
    """

    outer: Labels
    inner: Labels


@dataclass(frozen=True)
class Pair:
    """Contraction of two operands.

    Attributes:
        sizes: extents by label.
        threads: number of threads of matrix products; None for all usable cores.
    """

    left: Labels
    right: Labels
    result: Labels
    sizes: Mapping[str | int, int]
    threads: int | None = None

    @cached_property
    def summed(self) -> Labels:
        """The labels of both operands that the result lacks, in the larger operand's order."""
        larger, smaller = self.left, self.right
        if self._count(larger) < self._count(smaller):
            larger, smaller = smaller, larger
        return tuple(x for x in larger if x in smaller and x not in self.result)

    @cached_property
    def both(self) -> Labels:
        """The labels of both operands that the result has."""
        return tuple(x for x in self.result if x in self.left and x in self.right)

    @cached_property
    def rows(self) -> Labels:
        """The labels of the result that the first operand alone has."""
        return tuple(x for x in self.result if x not in self.right)

    @cached_property
    def columns(self) -> Labels:
        """The labels of the result that the second operand alone has."""
        return tuple(x for x in self.result if x not in self.left)

    def run(
        self, left: NumpyArray, right: NumpyArray, total: np.dtype[Any], runs: list[KernelRun]
    ) -> NumpyArray:
        """Compute the result.

        Args:
            left: the first operand.
            right: the second.
            total: the type of the result of a product of half types; other steps of half types
                compute float32.
            runs: receives a record of each kernel that is run.
        """
        is_product = self.summed and (self.rows or self.columns)
        if left.dtype != right.dtype or not is_product:
            left, right = widened(left), widened(right)
        if not self.summed:
            return self._elementwise(left, right, runs)
        if not is_product:
            return self._dots(left, right, runs)
        dtype = as_dtype(total) if as_dtype(left.dtype).is_half else None
        rows = self._side(left, self.left, self.rows)
        columns = self._side(right, self.right, self.columns)
        outer = (*self.both, *rows.outer, *columns.outer)
        a = self._matrices(left, self.left, rows.inner, outer, is_left=True)
        b = self._matrices(right, self.right, columns.inner, outer, is_left=False)
        labels = (*outer, *rows.inner, *columns.inner)
        whole, view = None, None
        if labels != self.result:
            stored = left.dtype if dtype is None else total
            whole, view = self._result_view(stored, outer, rows.inner, columns.inner)
        product = matmul(a, b, view, threads=self.threads, dtype=dtype)
        target = partial(specialized_target, a, b, self.threads, view, dtype)
        runs.append(KernelRun((a, b), product, target))
        if whole is not None:
            return whole
        if dtype is None:
            product = product.astype(left.dtype, copy=False)
        return ordered(product.reshape([self.sizes[x] for x in labels]), labels, self.result)

    def _result_view(
        self, dtype: np.dtype[Any], outer: Labels, rows: Labels, columns: Labels
    ) -> tuple[NumpyArray, NumpyArray] | tuple[None, None]:
        """Allocate the result, and make the view of it that the matrix product writes.

        Returns:
            the result and the view; None if the labels allow no such view, or the matrix product
            accumulates in another type.
        """
        groups = rows, columns
        followed = [(x, y) for group in groups for x, y in pairwise(group)]
        if any(self.result.index(x) + 1 != self.result.index(y) for x, y in followed):
            return None, None
        element = as_dtype(dtype)
        if result_type(element, None) != element:
            return None, None
        whole = np.empty([self.sizes[x] for x in self.result], dtype)
        shape = [self.sizes[x] for x in outer]
        shape += [self._count(group) for group in groups if group or outer]
        return whole, ordered(whole, self.result, (*outer, *rows, *columns)).reshape(shape)

    def _side(self, array: NumpyArray, labels: Labels, own: Labels) -> _Side:
        """Split an operand's own labels into batch dimensions and matrix rows (or columns).

        The rows are the longest suffix of labels that are adjacent both in the operand's memory
        and in the result. If such rows are too few for a batched product (``WORTH_A_STACK``), all
        labels become rows: the operand is copied, which costs less than many small matrices.
        """
        if len(own) < 2:
            return _Side((), own)
        strides = dict(zip(labels, array.strides, strict=True))
        split = len(own) - 1
        while split > 0:
            outer, inner = own[split - 1], own[split]
            is_adjacent = self.result.index(outer) + 1 == self.result.index(inner)
            if not is_adjacent or strides[outer] != strides[inner] * self.sizes[inner]:
                break
            split -= 1
        is_small = self._count(own[split:]) < WORTH_A_STACK
        if split and is_small and self._count(own) >= WORTH_A_STACK:
            split = 0
        return _Side(own[:split], own[split:])

    def _matrices(
        self, array: NumpyArray, labels: Labels, own: Labels, outer: Labels, *, is_left: bool
    ) -> NumpyArray:
        """View an operand as a batch of matrices; copy it only if its memory order does not fit."""
        stack = tuple(x for x in outer if x in labels) if outer else ()
        groups = (own, self.summed) if is_left else (self.summed, own)
        chosen = ordered(array, labels, (*stack, *groups[0], *groups[1]))
        is_transposed = False
        if not chosen.flags.c_contiguous:
            transposed = ordered(array, labels, (*stack, *groups[1], *groups[0]))
            is_transposed = transposed.flags.c_contiguous
            chosen = transposed if is_transposed else chosen
        if not own and not outer:
            return chosen.reshape(self._count(self.summed))
        shape = [self.sizes[x] if x in stack else 1 for x in outer]
        shape += [self._count(group) for group in (groups[::-1] if is_transposed else groups)]
        matrices = chosen.reshape(shape)
        return matrices.swapaxes(-1, -2) if is_transposed else matrices

    def _dots(self, left: NumpyArray, right: NumpyArray, runs: list[KernelRun]) -> NumpyArray:
        last, first = (*self.result, *self.summed), (*self.summed, *self.result)
        operands = ((left, self.left), (right, self.right))
        along_last, along_first = (
            [ordered(array, labels, order) for array, labels in operands] for order in (last, first)
        )
        results, terms = self._count(self.result), self._count(self.summed)
        axis, shape, chosen = Axis.LAST, (results, terms), along_last
        if _copied(along_first) < _copied(along_last):
            axis, shape, chosen = Axis.FIRST, (terms, results), along_first
        kernel = _reduction(Combine.DOT, results, terms, axis, as_dtype(left.dtype))
        a, b = (_contiguous(operand.reshape(shape)) for operand in chosen)
        return _run(kernel, (a, b), runs).reshape([self.sizes[x] for x in self.result])

    def _elementwise(
        self, left: NumpyArray, right: NumpyArray, runs: list[KernelRun]
    ) -> NumpyArray:
        places = tuple(
            tuple(self.result.index(x) for x in labels) for labels in (self.left, self.right)
        )
        shape = tuple(self.sizes[x] for x in self.result)
        a, b = _contiguous(left), _contiguous(right)
        if self.left == self.right == self.result:  # flatten to a single loop
            kernel = _product((self._count(self.result),), ((0,), (0,)), as_dtype(left.dtype))
            return _run(kernel, (a.reshape(-1), b.reshape(-1)), runs).reshape(shape)
        return _run(_product(shape, places, as_dtype(left.dtype)), (a, b), runs)

    def _count(self, labels: Labels) -> int:
        return prod(self.sizes[label] for label in labels)


@dataclass(frozen=True)
class Fold:
    """Sum over labels of one operand, and transposition to the result's order.

    Attributes:
        sizes: extents by label.
    """

    operand: Labels
    result: Labels
    sizes: Mapping[str | int, int]

    def run(self, array: NumpyArray, runs: list[KernelRun]) -> NumpyArray:
        """Compute the result; ``runs`` receives a record of each kernel that is run."""
        if self.operand == self.result:
            return array
        kept = [x for x in self.operand if x in self.result]
        if len(kept) == len(self.operand):
            return ordered(array, self.operand, self.result)
        array = widened(array)
        strides = dict(zip(self.operand, array.strides, strict=True))
        by_stride = tuple(sorted(self.operand, key=lambda x: -strides[x]))  # the memory order
        packed = ordered(array, self.operand, by_stride)
        if not packed.flags.c_contiguous:
            by_stride, packed = self.operand, _contiguous(array)
        dimensions: list[
            tuple[int, bool]
        ] = []  # adjacent dimensions, merged if both are kept or both summed
        for label in by_stride:
            extent, is_kept = self.sizes[label], label in self.result
            if extent != 1 and dimensions and dimensions[-1][1] == is_kept:
                dimensions[-1] = (dimensions[-1][0] * extent, is_kept)
            elif extent != 1:
                dimensions.append((extent, is_kept))
        sums = _folded(_contiguous(packed).reshape(-1), dimensions, runs)
        labels = tuple(x for x in by_stride if x in self.result)
        return ordered(sums.reshape([self.sizes[x] for x in labels]), labels, self.result)


def _folded(
    array: NumpyArray, dimensions: Sequence[tuple[int, bool]], runs: list[KernelRun]
) -> NumpyArray:
    """Sum over the dimensions that are not kept.

    If the last dimension and others are summed, the last one is summed by a kernel of its own.

    Args:
        dimensions: the extent of each dimension, and whether it is kept.
        runs: receives a record of each kernel that is run.
    """
    remaining = list(dimensions)
    if all(is_kept for _, is_kept in remaining):  # sums of one term each
        remaining.append((1, False))
    while not all(is_kept for _, is_kept in remaining):
        dtype, extents = as_dtype(array.dtype), tuple(extent for extent, _ in remaining)
        kept = tuple(is_kept for _, is_kept in remaining)
        if not kept[-1]:
            results, terms = prod(extents[:-1]), extents[-1]
            kernel = _reduction(Combine.SUM, results, terms, Axis.LAST, dtype)
            array = _run(kernel, (array.reshape(results, terms),), runs)
            remaining = remaining[:-1]
            continue
        if kept == (False, True):
            kernel = _reduction(Combine.SUM, extents[1], extents[0], Axis.FIRST, dtype)
        else:
            kernel = _fold(extents, kept, dtype)
        return _run(kernel, (array.reshape(extents),), runs)
    return array


@lru_cache(maxsize=_KERNELS)
def _fold(extents: tuple[int, ...], kept: tuple[bool, ...], dtype: DType) -> CompiledKernel:
    machine = load_machine()
    return compile(fold_schedule(fold_kernel(extents, kept, dtype), machine), machine)


def _copied(arrays: Sequence[NumpyArray]) -> int:
    """Number of elements that are copied to make the arrays contiguous."""
    return sum(0 if array.flags.c_contiguous else array.size for array in arrays)


def ordered(array: NumpyArray, labels: Labels, wanted: Labels) -> NumpyArray:
    """Transpose an array into another order of its labels, without a copy."""
    if labels == wanted:
        return array
    return array.transpose([labels.index(label) for label in wanted])


def widened(array: NumpyArray) -> NumpyArray:
    """Convert elements of a half type to float32, in which kernels compute."""
    element = as_dtype(array.dtype)
    return array.astype(element.arithmetic.numpy()) if element.is_half else array


def _contiguous(array: NumpyArray) -> NumpyArray:
    """Make an array contiguous and aligned, as kernels require; copy only if necessary."""
    contiguous = np.ascontiguousarray(array) if array.ndim else array
    return contiguous if contiguous.flags.aligned else contiguous.copy()


def _run(
    kernel: CompiledKernel, operands: tuple[NumpyArray, ...], runs: list[KernelRun]
) -> NumpyArray:
    """Run a kernel of one output, and record the run."""
    result = kernel(*operands)
    assert isinstance(result, np.ndarray)
    runs.append(kernel_run(kernel, operands, result))
    return result


@lru_cache(maxsize=_KERNELS)
def _reduction(
    combine: Combine, results: int, terms: int, axis: Axis, dtype: DType
) -> CompiledKernel:
    kernel = reduce_kernel(combine, results, terms, axis=axis, dtype=dtype)
    machine = load_machine()
    return compile(reduce_schedule(kernel, machine), machine)


@lru_cache(maxsize=_KERNELS)
def _product(
    shape: tuple[int, ...], places: tuple[tuple[int, ...], ...], dtype: DType
) -> CompiledKernel:
    """Compile ``out[i, j, ...] = a[...] * b[...]`` with the last loop vectorized.

    Args:
        places: for each operand, the dimension of the result of each of its dimensions.
    """
    build = KernelBuilder("product")
    operands = [
        build.input(name, dtype, tuple(shape[place] for place in own))
        for name, own in zip("ab", places, strict=True)
    ]
    out = build.output("out", dtype, shape)
    if not shape:
        out[()] = operands[0][()] * operands[1][()]
        return compile(Schedule(build.kernel()))
    names = [f"i{axis}" for axis in range(len(shape))]
    bounds: dict[str, Any] = dict(zip(names, shape, strict=True))
    with build.loops(**bounds) as loops:
        indices = loops if len(shape) > 1 else (loops,)
        a, b = (
            operand[tuple(indices[place] for place in own)]
            for operand, own in zip(operands, places, strict=True)
        )
        out[tuple(indices)] = a * b
    machine = load_machine()
    schedule = Schedule(build.kernel())
    if shape[-1] > 1:
        schedule = schedule.vectorize(names[-1], machine.lanes(dtype.bits))
    return compile(schedule, machine)
