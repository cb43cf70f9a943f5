"""One step of a contraction: two operands become one, or labels of one are summed away.

======================================  =================================================
labels are summed, and others remain    a product of (stacks of) matrices, by the library
labels are summed, in both operands     a dot product for each element, by the library
labels of one operand are summed        a sum along an axis, by the library
nothing is summed                       a product of elements, one vector loop
======================================  =================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from polysched.frontends.einsum.operands import Labels, NumpyArray
from polysched.frontends.einsum.short_way import Ran, ran_kernel
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType, as_dtype
from polysched.library.matmul.call import matmul
from polysched.library.matmul.target import matmul_target
from polysched.library.reduce import Axis, Combine, reduce_kernel, reduce_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule

_KERNELS = 512


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
        """The labels of both operands that the result lacks."""
        return tuple(x for x in self.left if x in self.right and x not in self.result)

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
        a = self._matrices(left, self.left, self.rows, is_left=True)
        b = self._matrices(right, self.right, self.columns, is_left=False)
        product = matmul(a, b, threads=self.threads)
        ran.append(Ran((a, b), product, partial(matmul_target, a, b, self.threads)))
        found = product.astype(left.dtype, copy=False)
        labels = (*self.both, *self.rows, *self.columns)
        return ordered(found.reshape([self.sizes[x] for x in labels]), labels, self.result)

    def _matrices(
        self, array: NumpyArray, labels: Labels, own: Labels, *, is_left: bool
    ) -> NumpyArray:
        """An operand as a stack of matrices; one whose memory is so already is not copied."""
        groups = (own, self.summed) if is_left else (self.summed, own)
        straight = ordered(array, labels, (*self.both, *groups[0], *groups[1]))
        turned = ordered(array, labels, (*self.both, *groups[1], *groups[0]))
        is_turned = not straight.flags.c_contiguous and turned.flags.c_contiguous
        chosen = turned if is_turned else straight
        stack = (self._count(self.both),) if self.both else ()
        shape = [self._count(group) for group in (groups[::-1] if is_turned else groups)]
        matrices = chosen.reshape((*stack, *shape))
        if not own and not self.both:
            return matrices.reshape(self._count(self.summed))
        return matrices.swapaxes(-1, -2) if is_turned else matrices

    def _dots(self, left: NumpyArray, right: NumpyArray, ran: list[Ran]) -> NumpyArray:
        order = (*self.result, *self.summed)
        a, b = ordered(left, self.left, order), ordered(right, self.right, order)
        results, terms = self._count(self.result), self._count(self.summed)
        run = _reduction(Combine.DOT, results, terms, Axis.LAST, as_dtype(left.dtype))
        shape = (results, terms)
        found = _run(run, (_contiguous(a.reshape(shape)), _contiguous(b.reshape(shape))), ran)
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
        summed = tuple(x for x in self.given if x not in self.result)
        if not summed:
            return ordered(array, self.given, self.result)
        last = ordered(array, self.given, (*self.result, *summed))
        first = ordered(array, self.given, (*summed, *self.result))
        results = prod(self.sizes[x] for x in self.result)
        terms = prod(self.sizes[x] for x in summed)
        if first.flags.c_contiguous and not last.flags.c_contiguous:
            axis, matrix = Axis.FIRST, first.reshape((terms, results))
        else:
            axis, matrix = Axis.LAST, last.reshape((results, terms))
        run = _reduction(Combine.SUM, results, terms, axis, as_dtype(array.dtype))
        found = _run(run, (_contiguous(matrix),), ran)
        return found.reshape([self.sizes[x] for x in self.result])


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
