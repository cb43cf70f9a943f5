"""One step of a contraction: two operands become one, or labels of one are summed away.

======================================  =================================================
labels are summed, and others remain    a product of (stacks of) matrices, by the library
labels are summed, in both operands     a dot product for each element, by the library
labels of one operand are summed        a sum along an axis, by the library
nothing is summed                       a product of elements, one vector loop
======================================  =================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from polysched.frontends.einsum.operands import Labels, NumpyArray
from polysched.frontends.einsum.short_way import Ran, ran_kernel
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType, as_dtype
from polysched.library.fold import fold_kernel, fold_schedule
from polysched.library.matmul.call import matmul
from polysched.library.matmul.dispatch import WORTH_A_STACK
from polysched.library.matmul.kernel import accumulator_of
from polysched.library.matmul.target import matmul_target
from polysched.library.reduce import Axis, Combine, reduce_kernel, reduce_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule

_KERNELS = 512


@dataclass(frozen=True)
class _Side:
    """What an operand alone has: labels of a stack, and of its matrices' rows, or columns."""

    outer: Labels
    inner: Labels


@dataclass(frozen=True)
class Pair:
    """Two operands become one.

    Attributes:
        left: labels of the first operand.
        right: labels of the second.
        result: labels of the result.
        sizes: extents by label.
        threads: of products of matrices; None for as many as there are usable cores.
    """

    left: Labels
    right: Labels
    result: Labels
    sizes: Mapping[str | int, int]
    threads: int | None = None

    @cached_property
    def summed(self) -> Labels:
        """The labels of both operands that the result lacks, as the larger operand has them."""
        one, other = self.left, self.right
        if self._count(one) < self._count(other):
            one, other = other, one
        return tuple(x for x in one if x in other and x not in self.result)

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

    def run(self, left: NumpyArray, right: NumpyArray, ran: list[Ran]) -> NumpyArray:
        """Compute the result.

        Args:
            left: the first operand.
            right: the second.
            ran: gets what has run.
        """
        if not self.summed:
            return self._elementwise(left, right, ran)
        if not self.rows and not self.columns:
            return self._dots(left, right, ran)
        rows = self._side(left, self.left, self.rows)
        columns = self._side(right, self.right, self.columns)
        outer = (*self.both, *rows.outer, *columns.outer)
        a = self._matrices(left, self.left, rows.inner, outer, is_left=True)
        b = self._matrices(right, self.right, columns.inner, outer, is_left=False)
        labels = (*outer, *rows.inner, *columns.inner)
        whole, place = None, None
        if labels != self.result:
            whole, place = self._place(left.dtype, outer, rows.inner, columns.inner)
        product = matmul(a, b, place, threads=self.threads)
        ran.append(Ran((a, b), product, partial(matmul_target, a, b, self.threads, place)))
        if whole is not None:
            return whole
        found = product.astype(left.dtype, copy=False)
        return ordered(found.reshape([self.sizes[x] for x in labels]), labels, self.result)

    def _place(
        self, dtype: np.dtype[Any], outer: Labels, rows: Labels, columns: Labels
    ) -> tuple[NumpyArray, NumpyArray] | tuple[None, None]:
        """A new result, and the view of it that a product of these labels is; None where there is
        no such view, or the product has other elements.
        """
        groups = rows, columns
        followed = [(x, y) for group in groups for x, y in pairwise(group)]
        if any(self.result.index(x) + 1 != self.result.index(y) for x, y in followed):
            return None, None
        element = as_dtype(dtype)
        if accumulator_of(element) != element:
            return None, None
        whole = np.empty([self.sizes[x] for x in self.result], dtype)
        shape = [self.sizes[x] for x in outer]
        shape += [self._count(group) for group in groups if group or outer]
        return whole, ordered(whole, self.result, (*outer, *rows, *columns)).reshape(shape)

    def _side(self, array: NumpyArray, labels: Labels, own: Labels) -> _Side:
        """Which of the labels that an operand alone has are rows, or columns: as many of the last
        ones as follow one another, in the operand and in the result.

        Where these are few, all are, and the operand is copied: small matrices take longer.
        """
        if len(own) < 2:
            return _Side((), own)
        strides = dict(zip(labels, array.strides, strict=True))
        at = len(own) - 1
        while at > 0:
            outer, inner = own[at - 1], own[at]
            follow = self.result.index(outer) + 1 == self.result.index(inner)
            if not follow or strides[outer] != strides[inner] * self.sizes[inner]:
                break
            at -= 1
        if at and self._count(own[at:]) < WORTH_A_STACK and self._count(own) >= WORTH_A_STACK:
            at = 0
        return _Side(own[:at], own[at:])

    def _matrices(
        self, array: NumpyArray, labels: Labels, own: Labels, outer: Labels, *, is_left: bool
    ) -> NumpyArray:
        """An operand as a stack of matrices; one whose memory is so already is not copied."""
        stack = tuple(x for x in outer if x in labels) if outer else ()
        groups = (own, self.summed) if is_left else (self.summed, own)
        chosen = ordered(array, labels, (*stack, *groups[0], *groups[1]))
        is_turned = False
        if not chosen.flags.c_contiguous:
            turned = ordered(array, labels, (*stack, *groups[1], *groups[0]))
            is_turned = turned.flags.c_contiguous
            chosen = turned if is_turned else chosen
        if not own and not outer:
            return chosen.reshape(self._count(self.summed))
        shape = [self.sizes[x] if x in stack else 1 for x in outer]
        shape += [self._count(group) for group in (groups[::-1] if is_turned else groups)]
        matrices = chosen.reshape(shape)
        return matrices.swapaxes(-1, -2) if is_turned else matrices

    def _dots(self, left: NumpyArray, right: NumpyArray, ran: list[Ran]) -> NumpyArray:
        last, first = (*self.result, *self.summed), (*self.summed, *self.result)
        operands = ((left, self.left), (right, self.right))
        along_last, along_first = (
            [ordered(array, labels, order) for array, labels in operands] for order in (last, first)
        )
        results, terms = self._count(self.result), self._count(self.summed)
        axis, shape, chosen = Axis.LAST, (results, terms), along_last
        if _copied(along_first) < _copied(along_last):
            axis, shape, chosen = Axis.FIRST, (terms, results), along_first
        run = _reduction(Combine.DOT, results, terms, axis, as_dtype(left.dtype))
        a, b = (_contiguous(one.reshape(shape)) for one in chosen)
        found = _run(run, (a, b), ran)
        return found.reshape([self.sizes[x] for x in self.result])

    def _elementwise(self, left: NumpyArray, right: NumpyArray, ran: list[Ran]) -> NumpyArray:
        places = tuple(
            tuple(self.result.index(x) for x in labels) for labels in (self.left, self.right)
        )
        shape = tuple(self.sizes[x] for x in self.result)
        a, b = _contiguous(left), _contiguous(right)
        if self.left == self.right == self.result:  # one long loop
            run = _product((self._count(self.result),), ((0,), (0,)), as_dtype(left.dtype))
            return _run(run, (a.reshape(-1), b.reshape(-1)), ran).reshape(shape)
        return _run(_product(shape, places, as_dtype(left.dtype)), (a, b), ran)

    def _count(self, labels: Labels) -> int:
        return prod(self.sizes[label] for label in labels)


@dataclass(frozen=True)
class Fold:
    """Labels of one operand are summed away.

    Attributes:
        given: labels of the operand.
        result: labels of the result.
        sizes: extents by label.
    """

    given: Labels
    result: Labels
    sizes: Mapping[str | int, int]

    def run(self, array: NumpyArray, ran: list[Ran]) -> NumpyArray:
        """Compute the result; ``ran`` gets what has run."""
        if self.given == self.result:
            return array
        kept = [x for x in self.given if x in self.result]
        if len(kept) == len(self.given):
            return ordered(array, self.given, self.result)
        strides = dict(zip(self.given, array.strides, strict=True))
        lying = tuple(sorted(self.given, key=lambda x: -strides[x]))  # as memory has them
        lie = ordered(array, self.given, lying)
        if not lie.flags.c_contiguous:
            lying, lie = self.given, _contiguous(array)
        runs: list[tuple[int, bool]] = []
        for label in lying:
            extent, is_kept = self.sizes[label], label in self.result
            if extent != 1 and runs and runs[-1][1] == is_kept:
                runs[-1] = (runs[-1][0] * extent, is_kept)
            elif extent != 1:
                runs.append((extent, is_kept))
        found = _folded(_contiguous(lie).reshape(-1), runs, ran)
        labels = tuple(x for x in lying if x in self.result)
        return ordered(found.reshape([self.sizes[x] for x in labels]), labels, self.result)


def _folded(array: NumpyArray, runs: Sequence[tuple[int, bool]], ran: list[Ran]) -> NumpyArray:
    """The sums over the dimensions that are not kept, of an array of extents in memory.

    Where the last dimension is summed, and others are too, that is one step and they the next.
    """
    left = list(runs)
    if all(is_kept for _, is_kept in left):  # sums of one term each
        left.append((1, False))
    while not all(is_kept for _, is_kept in left):
        dtype, extents = as_dtype(array.dtype), tuple(extent for extent, _ in left)
        kept = tuple(is_kept for _, is_kept in left)
        if not kept[-1]:
            results, terms = prod(extents[:-1]), extents[-1]
            run = _reduction(Combine.SUM, results, terms, Axis.LAST, dtype)
            array, left = _run(run, (array.reshape(results, terms),), ran), left[:-1]
            continue
        if kept == (False, True):
            run = _reduction(Combine.SUM, extents[1], extents[0], Axis.FIRST, dtype)
        else:
            run = _fold(extents, kept, dtype)
        return _run(run, (array.reshape(extents),), ran)
    return array


@lru_cache(maxsize=_KERNELS)
def _fold(extents: tuple[int, ...], kept: tuple[bool, ...], dtype: DType) -> CompiledKernel:
    machine = load_machine()
    return compile(fold_schedule(fold_kernel(extents, kept, dtype), machine), machine)


def _copied(arrays: Sequence[NumpyArray]) -> int:
    """How many elements are copied to have the arrays without gaps."""
    return sum(0 if array.flags.c_contiguous else array.size for array in arrays)


def ordered(array: NumpyArray, labels: Labels, wanted: Labels) -> NumpyArray:
    """The view of an array with its dimensions in another order."""
    if labels == wanted:
        return array
    return array.transpose([labels.index(label) for label in wanted])


def _contiguous(array: NumpyArray) -> NumpyArray:
    """The array in row-major order without gaps, at an address that kernels take."""
    found = np.ascontiguousarray(array) if array.ndim else array
    return found if found.flags.aligned else found.copy()


def _run(kernel: CompiledKernel, operands: tuple[NumpyArray, ...], ran: list[Ran]) -> NumpyArray:
    """What a kernel of one output computes."""
    found = kernel(*operands)
    assert isinstance(found, np.ndarray)
    ran.append(ran_kernel(kernel, operands, found))
    return found


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
    """The kernel ``out[i, j, ...] = a[...] * b[...]``: the last loop in vectors.

    Args:
        shape: of the result.
        places: for each operand, which dimension of the result each of its dimensions is.
        dtype: of all elements.
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
    with build.loops(**bounds) as found:
        at = found if len(shape) > 1 else (found,)
        a, b = (
            operand[tuple(at[place] for place in own)]
            for operand, own in zip(operands, places, strict=True)
        )
        out[tuple(at)] = a * b
    machine = load_machine()
    schedule = Schedule(build.kernel())
    if shape[-1] > 1:
        schedule = schedule.vectorize(names[-1], machine.lanes(dtype.bits))
    return compile(schedule, machine)
