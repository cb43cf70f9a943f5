"""Why an array that a caller gives for a result cannot be written where it lies."""

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
    """What is wrong with the memory of an array, as a predicate: ``is read-only``.

    Args:
        flags: numpy's ``flags.num``.
        strides: in bytes; None of an array without gaps.
        itemsize: bytes of an element.
        contiguous: whether the array must have no gaps.
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
