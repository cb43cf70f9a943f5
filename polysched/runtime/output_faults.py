"""Reasons why an output array cannot be written in place."""

from __future__ import annotations

from polysched.runtime.numpy_memory import ALIGNED, C_CONTIGUOUS, WRITEABLE


def fault_of_output(
    flags: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    itemsize: int,
    *,
    contiguous: bool = False,
) -> str:
    """Describe the fault of an output array as a predicate, such as ``is read-only``.

    Args:
        flags: numpy's ``flags.num``.
        shape: the extents.
        strides: in bytes; None for an array in row-major order without gaps.
        itemsize: bytes of an element.
        contiguous: whether the array must be contiguous.
    """
    if not flags & WRITEABLE:
        return "is read-only"
    if not flags & ALIGNED:
        return f"is misaligned: its address or a stride is not a multiple of {itemsize} bytes"
    if contiguous and not flags & C_CONTIGUOUS:
        return "is not contiguous in row-major order"
    for axis, (extent, stride) in enumerate(zip(shape, strides or (), strict=False)):
        if extent > 1 and stride <= 0:
            return f"has a stride of {stride} bytes along axis {axis}; expected a positive one"
        if extent > 1 and stride % itemsize:
            return (
                f"has a stride of {stride} bytes along axis {axis}, which is not a multiple of "
                f"{itemsize}, the bytes of an element"
            )
    return "has elements that may share memory"
