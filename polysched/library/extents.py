"""Sizes of library kernels: checks, and reading them back from arrays."""

from __future__ import annotations

from numbers import Integral

from polysched.errors import KernelError, ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.expressions import Constant


def require_sizes(maker: str, *, least: int = 0, **sizes: object) -> None:
    """Check that sizes are integers of at least ``least``.

    Args:
        maker: the function that takes the sizes, for the message.
        least: the smallest valid size.
        sizes: the sizes by name.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < least:
            raise KernelError(f"{maker}: {name} is {size!r}; expected an integer >= {least}")


def extents_of(
    kernel: Kernel, array: str, dimensions: str, maker: str, unknown: int | None = None
) -> dict[str, int]:
    """The extents of an array by the names of its dimensions.

    Args:
        kernel: a kernel with literal sizes.
        dimensions: the names of its dimensions, in any order.
        maker: the function that declares such kernels, for the message.
        unknown: what to take for an extent that is a parameter; by default it is an error.
    """
    declared = kernel.arrays.get(array)
    shape = zip(declared.dimensions, declared.shape, strict=True) if declared else ()
    extents = {}
    for name, extent in shape:
        value = int(extent.value) if isinstance(extent, Constant) else unknown
        if value is not None:
            extents[name] = value
    if extents.keys() != set(dimensions.split()):
        raise ScheduleError(
            f"kernel '{kernel.name}' has no array '{array}' with the dimensions {dimensions} of "
            f"literal sizes; expected a kernel of {maker}()"
        )
    return extents
