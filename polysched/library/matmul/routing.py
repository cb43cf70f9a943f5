"""What a call of ``matmul`` has to do, decided by types, shapes and flags alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np

from polysched.errors import CallError
from polysched.ir.dtypes import DType
from polysched.library.matmul.arguments import element_type, spread
from polysched.library.matmul.compiled import finish_alone, host, product_kernel
from polysched.library.matmul.finish import PLAIN, Bias, Factor, Finish
from polysched.library.matmul.kernel import accumulator_of
from polysched.library.matmul.operands import Origin, Stored
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.route import Route
from polysched.library.matmul.shapes import Product, Shape, bias_of, gaps_of, product_of
from polysched.library.matmul.turning import pays_turned
from polysched.library.matmul.views import Form, Operand, Preparation, form_of
from polysched.machine.description import Machine
from polysched.runtime.door import Target
from polysched.runtime.kernel import LARGEST_TEAM, CompiledKernel
from polysched.runtime.numpy_memory import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.output_faults import fault_of_output
from polysched.runtime.threads import current_team, usable_threads

WORTH_A_STACK = 16
"""Rows from which on a stack of matrices is multiplied one by one, rather than copied together."""


@dataclass(frozen=True)
class Task:
    """A product as a kernel is to compute it.

    Attributes:
        a: the kernel's first operand.
        b: its second one.
        dtype: the elements' type.
        product: its sizes.
        finish: what becomes of it.
        is_turned: whether it is the transposed one of what was asked for. Then ``a`` is the
            caller's right operand and ``b`` the left one, described as the caller has them.
    """

    a: Operand
    b: Operand
    dtype: DType
    product: Product
    finish: Finish
    is_turned: bool = False

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return accumulator_of(self.dtype)

    @property
    def turned(self) -> Task:
        """The task of the transposed product."""
        product, finish = self.product.turned, self.finish.turned
        return Task(self.b, self.a, self.dtype, product, finish, not self.is_turned)

    @property
    def shape(self) -> Shape:
        """The shape of the kernel's result."""
        sizes = self.product.sizes
        return *self.product.outer, sizes.m, sizes.n

    @property
    def forms(self) -> tuple[Form, Form]:
        """How the operands get the kernel's form; transposed is that of what the kernel reads."""
        sizes = self.product.sizes
        left = self._form("a", self.a, sizes.m, sizes.k)
        return left, self._form("b", self.b, sizes.k, sizes.n)

    def _form(self, name: str, operand: Operand, rows: int, columns: int) -> Form:
        outer = self.product.outer_of(name)
        # A vector lies along the sums, whether its caller calls it a row or a column.
        is_row, is_column = name == "a" and rows == 1, name == "b" and columns == 1
        if is_row or not (self.is_turned or is_column):
            return form_of(operand, (*outer, rows, columns))
        found = form_of(operand, (*outer, columns, rows))
        return found._replace(is_transposed=not found.is_transposed)

    @property
    def problem(self) -> Problem:
        """What a plan is for, the strides of the result apart."""
        a, b = map(self._origin, "ab", (self.a, self.b), self.forms)
        return Problem(self.product.sizes, self.dtype, a=a, b=b)

    def _origin(self, name: str, operand: Operand, form: Form) -> Origin:
        if operand.recipe is None:
            return Stored(form.is_transposed, form.strides)
        return (operand.recipe.turned if self.is_turned else operand.recipe).made(name)


def route(
    a: Operand,
    b: Operand,
    threads: int | None,
    finish: Finish = PLAIN,
    bias: Shape | None = None,
    out: Operand | None = None,
    machine: Machine | None = None,
) -> Route:
    """How to compute the product of such operands; compiles what it takes.

    Args:
        a: the left operand.
        b: the right operand.
        threads: how many may run, at least 1; None for as many as there are cores.
        finish: what becomes of the product, a bias apart.
        bias: the shape of a bias, None if there is none.
        out: where the result goes; None for an array in row-major order without gaps.
        machine: what the code of products is made for; None for the one that this runs on.

    Raises:
        CallError: the operands do not fit each other, or ``out`` cannot be written where it lies.
    """
    product = product_of(a.shape, b.shape, _gaps(a, b, out))
    added = None if bias is None else _added(bias, product)
    finish = finish if added is None else replace(finish, bias=added.along)
    task = Task(a, b, element_type(a.dtype, b.dtype), product, finish)
    sizes, total = product.sizes, task.total.numpy()
    if product.is_empty or (not sizes.k and finish == PLAIN):
        return Route(product.shape, total)
    if out is None or (out.shape, out.dtype) != (product.shape, total):
        # If it is not, that is told later.
        out = Operand(total, product.shape, C_CONTIGUOUS | ALIGNED | WRITEABLE)
    if sizes.n == 1 < sizes.m:
        # A matrix by a vector is the vector by the transposed matrix, whose rows become lanes.
        task = task.turned
    if not sizes.k or finish.alpha is Factor.ZERO:
        return _without_terms(task, out, added)
    task, target = _oriented(task, out, machine)
    return _multiplied(task, target, added, threads, machine)


def _gaps(a: Operand, b: Operand, out: Operand | None) -> frozenset[int]:
    """Before which dimensions of the stack one of the arrays has a gap.

    That of the rows counts where the left operand has it, whose rows they are, or the result; an
    operand of a few rows is copied instead. What is no view as it lies is copied anyway.
    """
    found: frozenset[int] = frozenset()
    for operand in (a, b, out):
        if operand is None or operand.strides is None or operand.flags & C_CONTIGUOUS:
            continue
        if len(operand.shape) > 2 and all(stride > 0 for stride in operand.strides):
            gaps = gaps_of(operand.shape, operand.strides)
            is_free = operand is b or (operand is a and a.shape[-2] < WORTH_A_STACK)
            found |= gaps - {0} if is_free else gaps
    return found


class _Added(NamedTuple):
    """A bias: along which dimension of the product it lies, how it becomes the kernel's vector, and
    whether it is that vector already if its elements follow one another.
    """

    along: Bias
    prepare: Preparation
    is_whole: bool


def _added(bias: Shape, product: Product) -> _Added:
    along, repeated = bias_of(bias, product)
    length = product.sizes.along(along.value)
    if prod(bias) == length:
        return _Added(along, np.ndarray.flatten, is_whole=True)
    return _Added(along, partial(spread, length=length, times=repeated), is_whole=False)


def _without_terms(task: Task, out: Operand, bias: _Added | None) -> Route:
    """The route of a product whose sums are 0, or do not count."""
    sizes = task.product.sizes
    return Route(
        task.product.shape,
        task.total.numpy(),
        finish_alone(sizes, task.total, task.finish),
        target=partial(np.reshape, shape=(sizes.batch, sizes.m, sizes.n)),
        bias=None if bias is None else bias.prepare,
        multiplies=False,
        copies_out=not out.flags & C_CONTIGUOUS,
    )


def _oriented(task: Task, out: Operand, machine: Machine | None) -> tuple[Task, Form]:
    """The task, or its transposed one, whichever is better, and the form of its result.

    Raises:
        CallError: ``out`` cannot be written where it lies.
    """
    target = form_of(out, task.shape)
    if target.is_copy:
        fault = fault_of_output(out.flags, out.shape, out.strides, out.dtype.itemsize)
        raise CallError(f"matmul: out {fault}; multiply into a new array and copy it")
    if not target.is_transposed and pays_turned(task.problem, machine or host()):
        target = target.turned(task.shape)
    return (task.turned if target.is_transposed else task), target


def _multiplied(
    task: Task, target: Form, bias: _Added | None, threads: int | None, machine: Machine | None
) -> Route:
    """The route of a product that is multiplied by a kernel of its own, which is compiled."""
    left, right = task.forms
    problem = replace(task.problem, strides_out=target.strides)
    count = min(threads or usable_threads(), LARGEST_TEAM)
    kernel = product_kernel(problem, task.product.stacks, task.finish, count, machine)
    lie_ready = not (left.is_copy or right.is_copy or problem.computed_a or problem.computed_b)
    is_known = lie_ready and (bias is None or bias.is_whole)
    return Route(
        task.product.shape,
        task.total.numpy(),
        kernel,
        is_swapped=task.is_turned,
        left=left.prepare,
        right=right.prepare,
        target=target.prepare,
        bias=None if bias is None else bias.prepare,
        options={"threads": threads} if threads is not None and kernel.is_threaded else {},
        door=_door(kernel, task, threads) if is_known else None,
    )


def _door(kernel: CompiledKernel, task: Task, threads: int | None) -> Target:
    """What a call runs that gives the kernel all its arrays as they lie, in its own order but for
    the operands.
    """
    team = (current_team().address, threads or 0) if kernel.is_threaded else ()
    count = len(kernel.signature.arrays)
    return Target(
        kernel.native.call,
        sources=(*((1, 0) if task.is_turned else (0, 1)), *range(2, count)),
        values=team,
        threads_at=1 if team and threads is None else None,
        written=(count - 1,),
        result=count - 1,
        allocate=(np.empty, (task.product.shape, task.total.numpy())),
    )
