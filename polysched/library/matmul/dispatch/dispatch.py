"""Dispatch of ``matmul`` calls: from types, shapes, strides and flags to a compiled kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.errors import CallError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.matmul.dispatch.compiled import epilogue_only, host, product_kernel
from polysched.library.matmul.dispatch.computed import Computed
from polysched.library.matmul.dispatch.entry import DispatchEntry
from polysched.library.matmul.dispatch.options import element_type, result_type, spread
from polysched.library.matmul.dispatch.shapes import (
    NumpyArray,
    Product,
    Shape,
    bias_of,
    gaps_of,
    product_of,
)
from polysched.library.matmul.dispatch.views import Form, Operand, Preparation, form_of
from polysched.library.matmul.kernel.declare import accumulator_of
from polysched.library.matmul.kernel.epilogue import PLAIN, Bias, Epilogue, Factor
from polysched.library.matmul.kernel.operands import Origin, Stored
from polysched.library.matmul.plan.orientation import pays_transposed
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.widening import widened
from polysched.machine.description import Machine
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, WRITEABLE, fault_of_output
from polysched.runtime.call_cache import CallTarget
from polysched.runtime.kernel import LARGEST_TEAM, CompiledKernel
from polysched.runtime.threads import usable_threads

WORTH_A_STACK = 16
"""Multiply the matrices of a stack one by one if each has at least this many rows.

Matrices of fewer rows are copied together into one tall matrix instead.
"""

CACHED_KINDS = 512
"""Kinds of calls whose dispatch entries are kept."""

OperandKey: TypeAlias = tuple[Any, ...]
"""The fields of an :class:`Operand` as a plain tuple, which takes a third of the time to make."""


@dataclass(frozen=True)
class Task:
    """A product as a kernel computes it.

    Attributes:
        product: the sizes and the stack.
        epilogue: what is applied to the sums.
        is_transposed: whether the kernel computes the transposed product. Then ``a`` is the
            caller's right operand and ``b`` the caller's left one, each described as the caller
            stores it.
        result: the type of the result; None for the type of the sums.
    """

    a: Operand
    b: Operand
    dtype: DType
    product: Product
    epilogue: Epilogue
    is_transposed: bool = False
    result: DType | None = None

    @property
    def stored(self) -> DType:
        """The type of the result."""
        return self.result or self.total

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return accumulator_of(self.dtype)

    @property
    def transposed(self) -> Task:
        """The task of the transposed product."""
        product, epilogue = self.product.transposed, self.epilogue.transposed
        return replace(
            self,
            a=self.b,
            b=self.a,
            product=product,
            epilogue=epilogue,
            is_transposed=not self.is_transposed,
        )

    @property
    def shape(self) -> Shape:
        """The shape of the kernel's result."""
        sizes = self.product.sizes
        return *self.product.outer, sizes.m, sizes.n

    @property
    def forms(self) -> tuple[Form, Form]:
        """The forms of both operands; ``is_transposed`` refers to the kernel's operand."""
        sizes = self.product.sizes
        left = self._form("a", self.a, sizes.m, sizes.k)
        return left, self._form("b", self.b, sizes.k, sizes.n)

    def _form(self, name: str, operand: Operand, rows: int, columns: int) -> Form:
        outer = self.product.outer_of(name)
        # The elements of a vector are terms of a sum, whether the caller stores it as a row or as a
        # column.
        is_row, is_column = name == "a" and rows == 1, name == "b" and columns == 1
        if is_row or not (self.is_transposed or is_column):
            return form_of(operand, (*outer, rows, columns))
        form = form_of(operand, (*outer, columns, rows))
        return form._replace(is_transposed=not form.is_transposed)

    @property
    def problem(self) -> Problem:
        """The problem to plan, without the strides of the result."""
        a, b = map(self._origin, "ab", (self.a, self.b), self.forms)
        return Problem(self.product.sizes, self.dtype, result=self.result, a=a, b=b)

    def _origin(self, name: str, operand: Operand, form: Form) -> Origin:
        if operand.recipe is None:
            stored = as_dtype(operand.dtype)
            return Stored(
                form.is_transposed, form.strides, None if stored == self.dtype else stored
            )
        recipe = operand.recipe.transposed if self.is_transposed else operand.recipe
        return recipe.computed_operand(name)


def operand_key(operand: NumpyArray | Computed) -> OperandKey:
    """The properties of an operand, or of a result, that dispatch depends on."""
    if isinstance(operand, Computed):
        return operand.operand
    return operand.dtype, operand.shape, operand.flags.num, operand.strides


def output_key(out: NumpyArray | None) -> OperandKey | None:
    """The key of ``out``; None for a contiguous array, which is the default."""
    return None if out is None or out.flags.c_contiguous else operand_key(out)


@lru_cache(maxsize=CACHED_KINDS)
def cached_dispatch(
    a: OperandKey,
    b: OperandKey,
    threads: int | None,
    epilogue: Epilogue,
    bias: Shape | None,
    out: OperandKey | None,
    dtype: DType | None,
    scales: tuple[Shape, ...],
) -> DispatchEntry:
    """The entry of :func:`dispatch` on this machine, computed once for each kind of call.

    No argument has a default, because calls with and without it would be cached separately.
    """
    target = None if out is None else Operand(*out)
    operands = Operand(*a), Operand(*b)
    return dispatch(*operands, threads, epilogue, bias, target, dtype=dtype, scales=scales)


def dispatch(  # noqa: PLR0913  (options by keyword)
    a: Operand,
    b: Operand,
    threads: int | None,
    epilogue: Epilogue = PLAIN,
    bias: Shape | None = None,
    out: Operand | None = None,
    machine: Machine | None = None,
    *,
    dtype: DType | None = None,
    scales: tuple[Shape, ...] = (),
) -> DispatchEntry:
    """Choose the code for the product of two operands, and compile it if needed.

    Args:
        a: the left operand.
        b: the right operand.
        threads: the most threads to use, at least 1; None for as many as there are cores.
        epilogue: what is applied to the sums, without the scales and the bias.
        bias: the shape of a bias; None for no bias.
        out: the result; None for a row-major array without gaps.
        machine: the machine to compile for; None for this machine.
        dtype: the element type of the result; None for the default.
        scales: the shapes of the scales.

    Raises:
        CallError: the operands do not fit each other, or ``out`` cannot be written in place.
    """
    product = product_of(a.shape, b.shape, _gaps(a, b, out))
    factors = [_vector(shape, product, "scale") for shape in scales]
    summands = [] if bias is None else [_vector(bias, product, "bias")]
    vectors = tuple(factors + summands)
    epilogue = replace(
        epilogue,
        scales=tuple(vector.along for vector in factors),
        bias=summands[0].along if summands else None,
    )
    element = element_type(a.dtype, b.dtype)
    task = Task(a, b, element, product, epilogue, result=result_type(element, dtype))
    sizes, total = product.sizes, task.stored.numpy()
    if product.is_empty or (not sizes.k and epilogue == PLAIN):
        return DispatchEntry(product.shape, total)
    if out is None or (out.shape, out.dtype) != (product.shape, total):
        # A result of the wrong shape or type is reported by the caller.
        out = Operand(total, product.shape, C_CONTIGUOUS | ALIGNED | WRITEABLE)
    if sizes.n == 1 < sizes.m:
        # Compute A x as x^T A^T: the rows of A become lanes.
        task = task.transposed
    if not sizes.k or epilogue.alpha is Factor.ZERO:
        return _without_terms(task, out, vectors)
    task, target = _oriented(task, out, machine)
    return _with_kernel(task, target, vectors, threads, machine)


def _gaps(a: Operand, b: Operand, out: Operand | None) -> frozenset[int]:
    """The dimensions of the stack before which an array has a gap in memory.

    A gap before the rows (dimension 0) counts for the left operand and for the result, which have
    these rows. It does not count for a left operand of few rows, which is copied instead. A view
    that has no form without a copy is copied too and has no gaps.
    """
    gaps: frozenset[int] = frozenset()
    for operand in (a, b, out):
        if operand is None or operand.strides is None or operand.flags & C_CONTIGUOUS:
            continue
        if len(operand.shape) > 2 and all(stride > 0 for stride in operand.strides):
            own = gaps_of(operand.shape, operand.strides)
            is_free = operand is b or (operand is a and a.shape[-2] < WORTH_A_STACK)
            gaps |= own - {0} if is_free else own
    return gaps


class _Vector(NamedTuple):
    """A scale or the bias as the kernel takes it.

    ``along`` is the dimension of the product that it varies along, ``prepare`` makes the kernel's
    vector. ``is_whole``: a contiguous array is that vector already.
    """

    along: Bias
    prepare: Preparation
    is_whole: bool


def _vector(shape: Shape, product: Product, name: str) -> _Vector:
    along, repeated = bias_of(shape, product, name)
    length = product.sizes.along(along.value)
    if prod(shape) == length:
        return _Vector(along, np.ndarray.flatten, is_whole=True)
    return _Vector(along, partial(spread, length=length, times=repeated), is_whole=False)


def _without_terms(task: Task, out: Operand, vectors: tuple[_Vector, ...]) -> DispatchEntry:
    """The entry of a product without terms, or with ``alpha`` 0: only the epilogue is computed."""
    sizes = task.product.sizes
    return DispatchEntry(
        task.product.shape,
        task.stored.numpy(),
        epilogue_only(sizes, task.total, task.epilogue, task.stored),
        target=partial(np.reshape, shape=(sizes.batch, sizes.m, sizes.n)),
        vectors=tuple(vector.prepare for vector in vectors),
        multiplies=False,
        copies_out=not out.flags & C_CONTIGUOUS,
    )


def _oriented(task: Task, out: Operand, machine: Machine | None) -> tuple[Task, Form]:
    """The task or its transposed task, whichever is faster, and the form of its result."""
    target = form_of(out, task.shape)
    if target.is_copy:
        fault = fault_of_output(out.flags, out.shape, out.strides, out.dtype.itemsize)
        raise CallError(f"matmul: out {fault}; multiply into a new array and copy it")
    if not target.is_transposed and pays_transposed(task.problem, machine or host()):
        target = target.transposed(task.shape)
    return (task.transposed if target.is_transposed else task), target


def _with_kernel(
    task: Task,
    target: Form,
    vectors: tuple[_Vector, ...],
    threads: int | None,
    machine: Machine | None,
) -> DispatchEntry:
    """The entry of a product with terms: compile its kernel."""
    left, right = task.forms
    problem = replace(task.problem, strides_out=target.strides)
    count = min(threads or usable_threads(), LARGEST_TEAM)
    outer = task.product.outer_of("a"), task.product.outer_of("b")
    widened_problem = widened(problem, outer, machine or host())
    kernel = product_kernel(widened_problem, task.product.stacks, task.epilogue, count, machine)
    needs_copy = left.is_copy or right.is_copy or problem.computed_a or problem.computed_b
    is_direct = not needs_copy and all(vector.is_whole for vector in vectors)
    return DispatchEntry(
        task.product.shape,
        task.stored.numpy(),
        kernel,
        is_swapped=task.is_transposed,
        left=left.prepare,
        right=right.prepare,
        target=target.prepare,
        vectors=tuple(vector.prepare for vector in vectors),
        options={"threads": threads} if threads is not None and kernel.is_threaded else {},
        direct_call=_direct_call(kernel, task, threads) if is_direct else None,
    )


def _direct_call(kernel: CompiledKernel, task: Task, threads: int | None) -> CallTarget:
    """The target of later calls, whose arrays are passed to the kernel unchanged.

    The arguments keep the kernel's order, except that the operands of a transposed product are
    swapped.
    """
    return CallTarget(
        kernel,
        sources=(
            *((1, 0) if task.is_transposed else (0, 1)),
            *range(2, len(kernel.signature.arrays)),
        ),
        threads=threads,
        allocate=(np.empty, (task.product.shape, task.stored.numpy())),
    )


def matmul_target(
    a: NumpyArray,
    b: NumpyArray,
    threads: int | None,
    out: NumpyArray | None = None,
    dtype: DType | None = None,
) -> CallTarget | None:
    """The call target of a plain product, with the arguments of ``matmul``.

    The result is the last array.

    None if an argument has to be prepared in Python. Without ``out`` the result is a new array.
    """
    return cached_dispatch(
        operand_key(a), operand_key(b), threads, PLAIN, None, output_key(out), dtype, ()
    ).direct_call
