"""Strides: argument arrays whose elements do not lie one after the other in memory.

A stride is the distance, in elements, from one index of a dimension to the next. Different elements
never share memory, so that everything that is said of dependences between elements holds of memory.
That is proved when the kernel is declared; where it hangs on a product of parameters, such as a
leading dimension times a number of rows, it is checked at every call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.affine import instance_space, to_pw_aff, to_set
from polysched.ir.dtypes import DType
from polysched.ir.evaluate import evaluate
from polysched.ir.expressions import Constant, Expression, as_expression
from polysched.ir.kernel import Array
from polysched.ir.limits import limited
from polysched.ir.linear import linear_form
from polysched.ir.printing import format_array, format_expression

LARGEST_STRIDE = 2**48
"""Elements; no memory is larger, and byte distances stay far from the end of 64 bits."""


def as_strides(
    array: str, dtype: DType, given: Any, dimensions: Sequence[str], space: isl.Space
) -> tuple[Expression, ...]:
    """The strides that an array is declared with, one for each of its dimensions.

    Args:
        space: a space without dimensions whose parameters are those of the kernel.

    Raises:
        KernelError: there are too few or too many, or one is not affine in the parameters, or a
            number below 1; or the elements have no addresses of their own.
    """
    if dtype.is_odd:
        raise KernelError(
            f"array '{array}' of {dtype} cannot have strides: elements of {dtype.bits} bits are "
            "packed, so they have no addresses; leave strides= out"
        )
    if not isinstance(given, tuple | list) or len(given) != len(dimensions):
        raise KernelError(
            f"array '{array}': strides={given!r}; expected {len(dimensions)} of them, one for each "
            "dimension, in elements, such as (lda, 1)"
        )
    return tuple(
        _as_stride(array, name, stride, space)
        for name, stride in zip(dimensions, given, strict=True)
    )


def _as_stride(array: str, dimension: str, given: Any, space: isl.Space) -> Expression:
    try:
        stride = as_expression(given)
        with limited(KernelError, "it is too intricate"):
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
    """Prove that no two elements of an array share memory, whatever the parameters.

    There is an order of the dimensions in which each stride is longer than all that the dimensions
    inside of it reach. Where that is not affine, it is left to the calls.

    Args:
        context: the values that the parameters may have.

    Raises:
        KernelError: no such order is found; the message says what to assume.
    """
    if array.strides is None:
        return
    inwards = _innermost_first(array)
    with limited(KernelError, f"the strides of array '{array.name}' are too intricate"):
        proof = _Proof(array, array.strides, context, instance_space(parameters, "", ()))
        complaint = None if proof.holds(inwards, Constant(1)) else proof.complaint(inwards)
        if complaint is not None:
            raise KernelError(complaint)


class _Proof:
    """The questions about one array's strides."""

    def __init__(
        self, array: Array, strides: tuple[Expression, ...], context: isl.Set, space: isl.Space
    ) -> None:
        self.array = array
        self.strides = strides
        self.space = space
        self.meant = context
        for extent in array.shape:  # an array without elements needs no memory
            self.meant = self.meant.intersect(to_set(extent >= 1, space).params())

    def holds(self, left: tuple[int, ...], reach: Expression) -> bool:
        """Whether the dimensions ``left`` can be put around others that take ``reach`` elements."""
        return not left or any(
            self.is_apart(one, reach)
            and self.holds(tuple(d for d in left if d != one), self.around(one, reach))
            for one in left
        )

    def is_apart(self, dimension: int, reach: Expression, *, trusted: bool = False) -> bool:
        """Whether a dimension with several indices has a stride of ``reach`` elements at least.

        Args:
            trusted: whether that holds where it is not affine.
        """
        several = to_set(self.array.shape[dimension] >= 2, self.space).params()
        try:
            apart = to_set(reach <= self.strides[dimension], self.space).params()
        except KernelError:  # a product of parameters: nothing is known of it
            return trusted or self.meant.intersect(several).is_empty()
        return self.meant.intersect(several).is_subset(apart)

    def around(self, dimension: int, reach: Expression) -> Expression:
        """What a dimension and those inside of it reach."""
        last = self.array.shape[dimension] - 1
        stride = self.strides[dimension]
        form = linear_form(stride * last + reach, {})
        return form.expression()

    def complaint(self, inwards: tuple[int, ...]) -> str | None:
        """What is missing in the order of the dimensions that is most likely meant.

        None if nothing is but what is not affine.
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
    """The dimensions from the innermost in memory: those with stride 1, then the last ones first.

    That is what is meant, most likely; strides that are parameters do not tell.
    """
    assert array.strides is not None
    strides = array.strides
    return tuple(sorted(range(len(strides)), key=lambda d: (strides[d] != Constant(1), -d)))


def concrete_strides(
    array: Array, shape: Sequence[int], parameters: Mapping[str, int]
) -> tuple[int, ...]:
    """The strides as numbers of elements.

    Args:
        shape: the array's extents as numbers.

    Raises:
        KernelError: a parameter has no value.
    """
    if array.strides is not None:
        return tuple(evaluate(stride, parameters) for stride in array.strides)
    return _compact(range(len(shape) - 1, -1, -1), shape)


def closest_strides(array: Array, shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of such an array without gaps, its dimensions in memory order."""
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
    """Whether dimensions lie around one another, so that no two elements share memory."""
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
    """From the first element to the end of the last one, in elements; 0 of an empty array."""
    if 0 in shape:
        return 0
    return 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True))
