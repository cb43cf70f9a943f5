"""What a call of ``matmul`` has to do, decided by types, shapes and flags alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.dtypes import DType
from polysched.library.matmul.arguments import element_type, spread
from polysched.library.matmul.compiled import finish_alone, host, product_kernel
from polysched.library.matmul.computed import Computed
from polysched.library.matmul.finish import PLAIN, Factor, Finish
from polysched.library.matmul.kernel import accumulator_of
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.shapes import NumpyArray, Product, Shape, bias_of, product_of
from polysched.library.matmul.turning import pays_turned
from polysched.library.matmul.views import Operand, Preparation, form_of
from polysched.machine.description import Machine
from polysched.runtime.door import Target
from polysched.runtime.kernel import LARGEST_TEAM, CompiledKernel
from polysched.runtime.memory import share_memory
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.threads import current_team, usable_threads


@dataclass(frozen=True, eq=False)
class Route:
    """How calls of one kind are computed.

    Attributes:
        shape: of the result.
        dtype: of the result.
        kernel: computes it; None if there is nothing to add up.
        is_swapped: whether the kernel takes ``b`` first.
        left: brings the kernel's first operand into its form; None where it has it.
        right: the same for the second operand.
        target: the same for the result, by a view.
        options: further arguments of the kernel's call.
        bias: brings a bias into the kernel's form, in memory of its own; None if there is none.
        multiplies: whether the kernel takes the operands; without terms it does not.
        copies_out: whether the kernel computes into a copy of the result.
        target_of_door: what calls with such arrays run at once when they come again; None if there
            is more to do.
    """

    shape: Shape
    dtype: np.dtype[Any]
    kernel: CompiledKernel | None = None
    is_swapped: bool = False
    left: Preparation | None = None
    right: Preparation | None = None
    target: Preparation | None = None
    options: dict[str, int] | None = None
    bias: Preparation | None = None
    multiplies: bool = True
    copies_out: bool = False
    target_of_door: Target | None = None

    def run(self, a: NumpyArray, b: NumpyArray, out: NumpyArray) -> None:
        """Compute into ``out``, an array of the result's shape and type."""
        if self.kernel is None:
            out.fill(0)
            return
        if self.is_swapped:
            a, b = b, a
        left, right = self._prepared(a, b)
        try:
            self._call(left, right, out)
        except CallError:
            self._require_apart(left, right, out)
            raise

    def finish(
        self,
        a: NumpyArray | Computed,
        b: NumpyArray | Computed,
        out: NumpyArray,
        factors: Sequence[NumpyArray],
        bias: NumpyArray,
    ) -> None:
        """Compute into ``out``, and finish it.

        Args:
            a: the left operand.
            b: the right operand.
            out: where the result goes.
            factors: those of the finish that may be any number; numpy lets them be written.
            bias: its bias, whatever it is if there is none.
        """
        if self.kernel is None:
            out.fill(0)
            return
        if self.is_swapped:
            a, b = b, a
        further = factors if self.bias is None else [*factors, self.bias(bias)]
        operands = (*_arrays(a, self.left), *_arrays(b, self.right)) if self.multiplies else ()
        try:
            self._call(*operands, *further, out)
        except CallError:
            self._require_apart(a, b, out)
            raise

    def _require_apart(
        self, left: NumpyArray | Computed, right: NumpyArray | Computed, out: NumpyArray
    ) -> None:
        """Say which of the caller's arrays overlaps ``out``, if that is what is wrong: the kernel
        knows them by other names.
        """
        for name, one in zip("ba" if self.is_swapped else "ab", (left, right), strict=True):
            named = one.named(name) if isinstance(one, Computed) else {f"arrays '{name}'": one}
            for what, array in named.items():
                if share_memory(array, out):
                    raise CallError(
                        f"matmul: {what} and 'out' overlap in memory, and 'out' is written; "
                        "expected separate memory: pass a copy of one of them"
                    ) from None

    def _prepared(self, a: NumpyArray, b: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
        return (
            a if self.left is None else self.left(a),
            b if self.right is None else self.right(b),
        )

    def _call(self, *arrays: NumpyArray) -> None:
        assert self.kernel is not None
        *inputs, out = arrays
        whole = np.array(out, order="C") if self.copies_out else out
        inner = whole if self.target is None else self.target(whole)
        if self.options is None:
            self.kernel(*inputs, inner)
        else:
            self.kernel(*inputs, inner, **self.options)
        if self.copies_out:
            out[...] = whole


def _arrays(operand: NumpyArray | Computed, prepare: Preparation | None) -> list[NumpyArray]:
    """What a kernel takes for an operand."""
    if isinstance(operand, Computed):
        return operand.arrays()
    return [operand if prepare is None else prepare(operand)]


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
    dtype = element_type(a.dtype, b.dtype)
    total = accumulator_of(dtype).numpy()
    product = product_of(a.shape, b.shape)
    shape = product.shape
    form_of_bias = None
    if bias is not None:
        along, repeated = bias_of(bias, product)
        finish = replace(finish, bias=along)
        length = product.sizes.along(along.value)
        is_whole = prod(bias) == length
        form_of_bias = (
            np.ndarray.flatten if is_whole else partial(spread, length=length, times=repeated)
        )
    if product.is_empty or (not product.sizes.k and finish == PLAIN):
        return Route(shape, total)
    if out is None or (out.shape, out.dtype) != (shape, total):
        # If it is not, that is told later.
        out = Operand(total, shape, C_CONTIGUOUS | ALIGNED | WRITEABLE)
    is_vector = product.sizes.n == 1 < product.sizes.m
    if is_vector:
        # A matrix by a vector is the vector by the transposed matrix, whose rows become lanes.
        a, b, product, finish = b, a, product.turned, finish.turned
    target = form_of(out, (*product.outer, product.sizes.m, product.sizes.n), is_result=True)
    if not product.sizes.k or finish.alpha is Factor.ZERO:
        inner = (product.sizes.batch, product.sizes.m, product.sizes.n)
        return Route(
            shape,
            total,
            finish_alone(product.sizes, accumulator_of(dtype), finish),
            target=partial(np.reshape, shape=inner),
            bias=form_of_bias,
            multiplies=False,
            copies_out=not out.flags & C_CONTIGUOUS,
        )
    if target.is_copy:
        raise CallError(
            "matmul: out cannot be written where it lies: it is misaligned, has a negative or zero "
            "stride, or a stack whose matrices do not follow one another evenly; multiply into a "
            "new array and copy it"
        )
    if not target.is_transposed and _pays_turned(a, b, product, dtype, machine):
        target = target.turned((*product.outer, product.sizes.m, product.sizes.n))
    is_turned = target.is_transposed
    if is_turned:
        a, b, product, finish = b, a, product.turned, finish.turned
    sizes = product.sizes
    of_a = (sizes.k, sizes.m) if is_turned else (sizes.m, sizes.k)
    of_b = (sizes.n, sizes.k) if is_vector or is_turned else (sizes.k, sizes.n)
    left = form_of(a, (*product.outer_of("a"), *of_a))
    right = form_of(b, (*product.outer_of("b"), *of_b))
    is_swapped = is_vector or is_turned
    recipe_a, recipe_b = (
        one.recipe.turned if one.recipe and is_swapped else one.recipe for one in (a, b)
    )
    is_transposed_b = right.is_transposed is not is_swapped
    problem = Problem(
        sizes,
        dtype,
        transpose_a=recipe_a is None and left.is_transposed is not is_turned,
        transpose_b=recipe_b.reads_columns if recipe_b else is_transposed_b,
        computed_a=recipe_a is not None,
        computed_b=recipe_b is not None,
        strides_a=left.strides,
        strides_b=right.strides,
        strides_out=target.strides,
    )
    count = min(threads or usable_threads(), LARGEST_TEAM)
    kernel = product_kernel(problem, product.stacks, finish, count, recipe_a, recipe_b, machine)
    options = {"threads": threads} if threads is not None and kernel.is_threaded else None
    is_more = left.is_copy or right.is_copy or recipe_a or recipe_b or finish != PLAIN
    return Route(
        shape,
        total,
        kernel,
        is_swapped=is_swapped,
        left=left.prepare,
        right=right.prepare,
        target=target.prepare,
        options=options,
        target_of_door=None if is_more else _target_of_door(kernel, is_swapped, threads, shape),
        bias=form_of_bias,
    )


def _pays_turned(
    a: Operand, b: Operand, product: Product, dtype: DType, machine: Machine | None
) -> bool:
    """Whether it is better to multiply the transposed operands."""
    sizes = product.sizes
    left = form_of(a, (*product.outer_of("a"), sizes.m, sizes.k))
    right = form_of(b, (*product.outer_of("b"), sizes.k, sizes.n))
    problem = Problem(
        sizes,
        dtype,
        transpose_a=left.is_transposed,
        transpose_b=right.is_transposed,
        computed_a=a.recipe is not None,
        computed_b=b.recipe is not None,
    )
    return pays_turned(problem, machine or host())


def _target_of_door(
    kernel: CompiledKernel, is_swapped: bool, threads: int | None, shape: Shape
) -> Target:
    """What a call runs that gives a plain product's operands to the kernel as they lie."""
    team = (current_team().address, threads or 0) if kernel.is_threaded else ()
    return Target(
        kernel.native.call,
        sources=(1, 0, 2) if is_swapped else (0, 1, 2),
        values=team,
        threads_at=1 if team and threads is None else None,
        written=(2,),
        allocate=(np.empty, (shape, kernel.signature.arrays[-1].dtype.numpy())),
    )
