"""Check the strides of arguments against the declared strides."""

from __future__ import annotations

from polysched.errors import CallError
from polysched.ir.core.kernel import Array
from polysched.ir.core.printing import format_expression
from polysched.ir.core.strides import are_apart
from polysched.runtime.signature import tuple_text


def element_strides(
    subject: str, array: Array, shape: tuple[int, ...], given: tuple[int, ...]
) -> tuple[int, ...]:
    """Convert numpy's strides from bytes to elements.

    Args:
        subject: the argument, for messages.
        given: the strides in bytes.

    Raises:
        CallError: a stride is not a multiple of the element size. The stride of a dimension with
            one index may be anything, because it is never used.
    """
    size = array.dtype.bytes
    for stride, extent in zip(given, shape, strict=True):
        if extent > 1 and stride % size:
            raise CallError(
                f"{subject} has strides of {given} bytes; expected multiples of its element's "
                f"size, {size} bytes: pass a copy of it"
            )
    return tuple(stride // size for stride in given)


def check_strides(
    subject: str,
    array: Array,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    expected: tuple[int, ...],
    where: str,
) -> None:
    """Check that the strides of an argument equal the declared strides.

    Args:
        subject: the argument, for messages.
        strides: the strides of the argument in elements.
        expected: the declared strides, as numbers.
        where: the parameters, for messages: ``" with lda = 8 (given)"``, or nothing.
    """
    if 0 in shape or all(
        extent == 1 or stride == declared_stride
        for extent, stride, declared_stride in zip(shape, strides, expected, strict=True)
    ):
        return
    declared = tuple_text([format_expression(stride) for stride in array.strides or ()])
    numbers = tuple_text([str(stride) for stride in expected])
    meaning = "" if declared == numbers else f"{declared} = "
    raise CallError(
        f"{subject} has strides of {tuple_text([str(stride) for stride in strides])} elements; "
        f"expected {meaning}{numbers}{where}"
    )


def require_apart(subject: str, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Check that no two elements of an array share memory, for these sizes."""
    if not are_apart(shape, strides):
        raise CallError(
            f"{subject} of shape {shape} has strides of {tuple_text([str(s) for s in strides])} "
            "elements, with which two elements may share memory; expected each stride to be longer "
            "than all that the dimensions inside of it reach"
        )
