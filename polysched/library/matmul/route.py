"""What a call of ``matmul`` has to do, decided by types, shapes and flags alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.ir.dtypes import DType, as_dtype
from polysched.library.matmul.kernel import Sizes, accumulator_of, matmul_kernel
from polysched.library.matmul.plan import plan
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.schedule import matmul_schedule
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.kernel import LARGEST_TEAM, CompiledKernel
from polysched.runtime.memory import address
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.threads import usable_threads

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]
Preparation: TypeAlias = Callable[[NumpyArray], NumpyArray]

F_CONTIGUOUS = 0x0002  # numpy's documented bit of `ndarray.flags.num`
_KERNELS = 128


class Operand(NamedTuple):
    """All that a route follows from of one operand: ``flags`` are numpy's ``flags.num``."""

    dtype: np.dtype[Any]
    shape: Shape
    flags: int


@dataclass(frozen=True, eq=False)
class Route:
    """How calls of one kind are computed.

    Attributes:
        shape: of the result.
        dtype: of the result.
        kernel: computes it; None if there is nothing to add up.
        inner_shape: of the result as the kernel has it, which knows no vectors.
        is_swapped: whether the kernel takes ``b`` first.
        left: brings the kernel's first operand into its form; None where it has it.
        right: the same for the second operand.
        options: further arguments of the kernel's call.
        direct: the short way, where there is one.
    """

    shape: Shape
    dtype: np.dtype[Any]
    kernel: CompiledKernel | None = None
    inner_shape: Shape = ()
    is_swapped: bool = False
    left: Preparation | None = None
    right: Preparation | None = None
    options: dict[str, int] | None = None
    direct: Direct | None = None

    def run(self, a: NumpyArray, b: NumpyArray, out: NumpyArray) -> None:
        """Compute into ``out``, an array of the result's shape and type."""
        if self.kernel is None:
            out.fill(0)
            return
        if self.is_swapped:
            a, b = b, a
        if self.direct is not None and self.direct.run(a, b, out):
            return
        if self.left is not None:
            a = self.left(a)
        if self.right is not None:
            b = self.right(b)
        if self.inner_shape != self.shape:
            out = out.reshape(self.inner_shape)
        if self.options is None:
            self.kernel(a, b, out)
        else:
            self.kernel(a, b, out, **self.options)


@dataclass(frozen=True, eq=False)
class Direct:
    """The short way into the machine code, for one thread.

    What the kernel's own call would look at again is known of all calls of a kind, but for the
    addresses. Small products take as long as those checks.

    Attributes:
        call: the machine code.
        left: brings the first operand into row-major order; None where it is.
        right: the same for the second operand.
        a_writable: whether numpy lets it be written: what :func:`address` wants to know.
        b_writable: the same of the second operand.
        a_bytes: its length.
        b_bytes: the length of the second operand.
        out_bytes: the length of the result.
    """

    call: Callable[..., int]
    left: Preparation | None
    right: Preparation | None
    a_writable: bool
    b_writable: bool
    a_bytes: int
    b_bytes: int
    out_bytes: int

    def run(self, a: NumpyArray, b: NumpyArray, out: NumpyArray) -> bool:
        """Compute, and say whether that worked: not if arrays overlap, or there is no memory."""
        if self.left is not None:
            a = self.left(a)
        if self.right is not None:
            b = self.right(b)
        left, right = address(a, self.a_writable), address(b, self.b_writable)
        target = address(out, True)
        if (
            -self.a_bytes < left - target < self.out_bytes
            or -self.b_bytes < right - target < self.out_bytes
        ):
            return False
        return not self.call(left, right, target)


def route(a: Operand, b: Operand, threads: int | None) -> Route:
    """How to compute the product of such operands; compiles what it takes.

    Raises:
        CallError: the operands do not fit each other, or ``threads`` is no positive integer.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        raise CallError(f"matmul: threads={threads!r}; expected an integer >= 1")
    dtype = _element_type(a, b)
    total = accumulator_of(dtype).numpy()
    sizes, batch, shape = _sizes(a.shape, b.shape)
    if 0 in (sizes.m, sizes.n, sizes.k, sizes.batch):
        return Route(shape, total)
    outer = () if batch is None else (batch,)
    is_swapped = sizes.n == 1 < sizes.m
    if is_swapped:
        # A matrix by a vector is the vector by the transposed matrix, whose rows become lanes.
        a, b, sizes = b, a, sizes._replace(m=1, n=sizes.m)
    left = _form(a, (*outer, sizes.m, sizes.k))
    right = _form(b, (*outer, *((sizes.n, sizes.k) if is_swapped else (sizes.k, sizes.n))))
    problem = Problem(
        sizes,
        dtype,
        transpose_a=left.is_transposed,
        transpose_b=right.is_transposed is not is_swapped,
    )
    count = min(threads or usable_threads(), LARGEST_TEAM)
    kernel = _kernel(problem, batch is not None, count)
    options = {"threads": threads} if threads is not None and kernel.is_threaded else None
    direct = Direct(
        kernel.native.call,
        left=None if left.is_in_order else left.prepare,
        right=None if right.is_in_order else right.prepare,
        a_writable=bool(a.flags & WRITEABLE) or left.is_copy,
        b_writable=bool(b.flags & WRITEABLE) or right.is_copy,
        a_bytes=prod(a.shape) * a.dtype.itemsize,
        b_bytes=prod(b.shape) * b.dtype.itemsize,
        out_bytes=prod(shape) * total.itemsize,
    )
    return Route(
        shape,
        total,
        kernel,
        inner_shape=(*outer, sizes.m, sizes.n),
        is_swapped=is_swapped,
        left=left.prepare,
        right=right.prepare,
        options=options,
        direct=None if kernel.is_threaded else direct,
    )


@lru_cache(maxsize=_KERNELS)
def _kernel(problem: Problem, is_batch: bool, threads: int) -> CompiledKernel:
    machine = _host()
    sizes = problem.sizes
    kernel = matmul_kernel(
        sizes.m,
        sizes.n,
        sizes.k,
        dtype=problem.dtype,
        transpose_a=problem.transpose_a,
        transpose_b=problem.transpose_b,
        batch=sizes.batch if is_batch else None,
    )
    return compile(matmul_schedule(kernel, plan(problem, machine, threads), machine), machine)


@cache
def _host() -> Machine:
    return load_machine(None)


def _element_type(a: Operand, b: Operand) -> DType:
    """The type of both operands.

    Raises:
        CallError: they have two types, or one that is no number to multiply.
    """
    if a.dtype != b.dtype:
        raise CallError(
            f"matmul: 'a' has elements of type {a.dtype} and 'b' of type {b.dtype}; expected one "
            "type: convert one of them with .astype(...)"
        )
    try:
        dtype = as_dtype(a.dtype)
    except KernelError:
        dtype = None
    if dtype is None or not (dtype.is_float or (dtype.is_integer and dtype.is_signed)):
        raise CallError(
            f"matmul: the operands have elements of type {a.dtype}; expected float32, float64 or a "
            "signed integer"
        )
    return dtype


def _sizes(a: Shape, b: Shape) -> tuple[Sizes, int | None, Shape]:
    """The sizes of the product, how many there are in a stack, and the result's shape.

    Raises:
        CallError: the shapes do not fit.
    """
    for name, operand in (("a", a), ("b", b)):
        if not operand:
            raise CallError(
                f"matmul: '{name}' has no dimension; expected a matrix, or multiply by *"
            )
    rows, terms = (a[-2] if len(a) > 1 else 1), a[-1]
    terms_of_b, columns = (b[-2], b[-1]) if len(b) > 1 else (b[0], 1)
    if terms != terms_of_b:
        raise CallError(
            f"matmul: 'a' of shape {a} has {terms} columns and 'b' of shape {b} has {terms_of_b} "
            "rows; expected as many"
        )
    ends = (a[-2:-1] if len(a) > 1 else ()) + (b[-1:] if len(b) > 1 else ())
    stack, stack_of_b = a[:-2], b[:-2]
    if not stack_of_b:
        return Sizes(prod(stack) * rows, columns, terms), None, (*stack, *ends)
    if stack != stack_of_b:
        raise CallError(
            f"matmul: 'a' of shape {a} and 'b' of shape {b} are stacks of {stack} and {stack_of_b} "
            "matrices; expected equal stacks, or a single 'b': repeat with numpy.broadcast_to"
        )
    count = prod(stack)
    return Sizes(rows, columns, terms, count), count, (*stack, *ends)


class Form(NamedTuple):
    """How an operand gets the form of a kernel's array; ``prepare`` is None where it has it.

    ``is_transposed`` says that it is the array of a transposed operand, ``is_copy`` that it has
    memory of its own.
    """

    prepare: Preparation | None
    is_transposed: bool = False
    is_copy: bool = False

    @property
    def is_in_order(self) -> bool:
        """Whether the operand's memory is the kernel's array, whatever its shape."""
        return not (self.is_transposed or self.is_copy)


def _form(operand: Operand, shape: Shape) -> Form:
    is_aligned = bool(operand.flags & ALIGNED)
    if is_aligned and operand.flags & C_CONTIGUOUS:
        return Form(None if operand.shape == shape else partial(np.reshape, shape=shape))
    if is_aligned and operand.flags & F_CONTIGUOUS and len(operand.shape) == 2:
        return Form(np.transpose, is_transposed=True)
    return Form(partial(_copied, shape=shape), is_copy=True)


def _copied(array: NumpyArray, shape: Shape) -> NumpyArray:
    return np.array(array, order="C").reshape(shape)
