"""Strides of argument arrays, and the proof that distinct elements never share memory.

A stride is the distance, in elements, between consecutive indices of a dimension. Because distinct
elements never share memory, dependences between elements cover all conflicts in memory. The builder
proves it when the kernel is declared. If the proof involves a product of parameters, such as a
leading dimension times a number of rows, every call checks it instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array
from polysched.ir.core.limits import limited
from polysched.ir.core.printing import format_array, format_expression
from polysched.ir.expr.affine import instance_space, to_pw_aff, to_set
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Constant, Expression, as_expression
from polysched.ir.expr.linear import linear_form

LARGEST_STRIDE = 2**48
"""Largest stride in elements: larger than any memory, and byte distances stay far below 2**63."""


def as_strides(
    array: str, dtype: DType, strides: Any, dimensions: Sequence[str], space: isl.Space
) -> tuple[Expression, ...]:
    """Convert and check the declared strides of an array, one for each dimension.

    Args:
        space: a space without dimensions that has the kernel's parameters.

    Raises:
        KernelError: the number of strides is wrong, a stride is not affine in the parameters or is
            a number out of range, or the elements are packed.
    """
    if dtype.is_odd_width:
        raise KernelError(
            f"array '{array}' of {dtype} cannot have strides: elements of {dtype.bits} bits are "
            "packed, so they have no addresses; leave strides= out"
        )
    if not isinstance(strides, tuple | list) or len(strides) != len(dimensions):
        raise KernelError(
            f"array '{array}': strides={strides!r}; expected one stride for each of "
            f"{len(dimensions)} dimensions, in elements, such as (lda, 1)"
        )
    return tuple(
        _as_stride(array, name, stride, space)
        for name, stride in zip(dimensions, strides, strict=True)
    )


def _as_stride(array: str, dimension: str, operand: Any, space: isl.Space) -> Expression:
    try:
        stride = as_expression(operand)
        with limited(KernelError, "it is too complex"):
            function = to_pw_aff(stride, space)
    except KernelError as error:
        raise KernelError(
            f"stride of dimension '{dimension}' of array '{array}': {error}"
        ) from None
    form = linear_form(stride, {})
    if not form.is_constant and not function.is_cst():
        return stride
    number = form.constant if form.is_constant else int(function.max_val().to_python())
    if not 1 <= number <= LARGEST_STRIDE:
        raise KernelError(
            f"stride of dimension '{dimension}' of array '{array}' is {number}; expected a number "
            f"of elements from 1 to 2**{LARGEST_STRIDE.bit_length() - 1}"
        )
    return Constant(number)


def require_apart(array: Array, context: isl.Set, parameters: Sequence[str]) -> None:
    """Prove that no two elements of an array share memory, for all parameter values.

    The proof finds a nesting order of the dimensions: each stride is at least the number of
    elements that the inner dimensions span. If a comparison is not affine, every call checks it.

    Args:
        context: the possible values of the parameters.

    Raises:
        KernelError: no such order is found; the message proposes an assumption.
    """
    if array.strides is None:
        return
    inwards = _innermost_first(array)
    with limited(KernelError, f"the strides of array '{array.name}' are too complex"):
        proof = _Proof(array, array.strides, context, instance_space(parameters, "", ()))
        complaint = None if proof.holds(inwards, Constant(1)) else proof.complaint(inwards)
        if complaint is not None:
            raise KernelError(complaint)


class _Proof:
    """The proof that the elements of one array never share memory."""

    def __init__(
        self, array: Array, strides: tuple[Expression, ...], context: isl.Set, space: isl.Space
    ) -> None:
        self.array = array
        self.strides = strides
        self.space = space
        self.context = context
        for extent in array.shape:  # an array without elements needs no memory
            self.context = self.context.intersect(to_set(extent >= 1, space).params())

    def holds(self, left: tuple[int, ...], reach: Expression) -> bool:
        """Whether the dimensions ``left`` can be nested around dimensions that span ``reach``.

        Args:
            reach: the number of elements that the inner dimensions span.
        """
        return not left or any(
            self.is_apart(dimension, reach)
            and self.holds(tuple(d for d in left if d != dimension), self.around(dimension, reach))
            for dimension in left
        )

    def is_apart(self, dimension: int, reach: Expression, *, trusted: bool = False) -> bool:
        """Whether a dimension has a stride of at least ``reach``, or at most one index.

        Args:
            trusted: the answer if the comparison is not affine.
        """
        several = to_set(self.array.shape[dimension] >= 2, self.space).params()
        try:
            apart = to_set(reach <= self.strides[dimension], self.space).params()
        except KernelError:  # a product of parameters, which isl cannot represent
            return trusted or self.context.intersect(several).is_empty()
        return self.context.intersect(several).is_subset(apart)

    def around(self, dimension: int, reach: Expression) -> Expression:
        """The number of elements that a dimension spans together with the inner ones."""
        last = self.array.shape[dimension] - 1
        stride = self.strides[dimension]
        form = linear_form(stride * last + reach, {})
        return form.expression()

    def complaint(self, inwards: tuple[int, ...]) -> str | None:
        """Explain which condition is missing in the most likely nesting order of the dimensions.

        None if only comparisons are missing that are not affine.
        """
        reach: Expression = Constant(1)
        for dimension in inwards:
            if not self.is_apart(dimension, reach, trusted=True):
                break
            reach = self.around(dimension, reach)
        else:
            return None
        stride, name = self.strides[dimension], self.array.dimensions[dimension]
        wanted = format_expression(reach)
        head = (
            f"array {format_array(self.array)}: two elements may share memory, as the stride of "
            f"dimension '{name}' may be less than {wanted}"
        )
        if isinstance(stride, Constant) and isinstance(reach, Constant):
            return f"{head}; expected at least {wanted}, got {stride.value}"
        return f"{head}; expected an assumption: assume({format_expression(stride)} >= {wanted})"


def _innermost_first(array: Array) -> tuple[int, ...]:
    """The most likely nesting order of the dimensions, innermost first.

    Dimensions with stride 1 come first, then the others from last to first, because strides that
    are parameters do not determine the order.
    """
    assert array.strides is not None
    strides = array.strides
    return tuple(sorted(range(len(strides)), key=lambda d: (strides[d] != Constant(1), -d)))


def concrete_strides(
    array: Array, shape: Sequence[int], parameters: Mapping[str, int]
) -> tuple[int, ...]:
    """Evaluate an array's strides, in elements.

    Raises:
        KernelError: a parameter has no value.
    """
    if array.strides is not None:
        return tuple(evaluate(stride, parameters) for stride in array.strides)
    return _compact(range(len(shape) - 1, -1, -1), shape)


def closest_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a gapless array with the same memory order of dimensions."""
    inwards = range(len(shape) - 1, -1, -1) if array.strides is None else _innermost_first(array)
    return _compact(inwards, shape)


def _compact(inwards: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(stride for _, stride in sorted(_steps(inwards, shape)))


def _steps(inwards: Sequence[int], shape: Sequence[int]) -> Iterator[tuple[int, int]]:
    step = 1
    for dimension in inwards:
        yield dimension, step
        step *= max(1, shape[dimension])


def are_apart(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the dimensions nest by their strides, so that no two elements share memory."""
    if 0 in shape:
        return True
    reach = 1
    for stride, extent in sorted(zip(strides, shape, strict=True)):
        if extent > 1:
            if stride < reach:
                return False
            reach += stride * (extent - 1)
    return True


def elements_spanned(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The distance from the first element to the end of the last, in elements; 0 if empty."""
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
