"""The sizes of a library kernel: checked, and read from its arrays by those who schedule it."""

from __future__ import annotations

from numbers import Integral

from polysched.errors import KernelError, ScheduleError
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Kernel


def require_sizes(maker: str, *, least: int = 0, **sizes: object) -> None:
    """Check that sizes are numbers of things.

    Args:
        maker: what is made of them, for the message.
        least: the smallest size that there is.
        sizes: the sizes by name.

    Raises:
        KernelError: one is smaller, or no integer; the message names it.
    """
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, Integral) or size < least:
            raise KernelError(f"{maker}: {name} is {size!r}; expected an integer >= {least}")


def extents_of(kernel: Kernel, array: str, dimensions: str, maker: str) -> dict[str, int]:
    """The extents of an array by the names of its dimensions.

    Args:
        kernel: one with literal sizes.
        array: an array of it.
        dimensions: the names that its dimensions have, in any order.
        maker: the function that declares such kernels, for the message.

    Raises:
        ScheduleError: the kernel has no such array.
    """
    found = kernel.arrays.get(array)
    extents = {
        name: int(extent.value)
        for name, extent in (zip(found.dimensions, found.shape, strict=True) if found else ())
        if isinstance(extent, Constant)
    }
    if extents.keys() != set(dimensions.split()):
        raise ScheduleError(
            f"kernel '{kernel.name}' has no array '{array}' with the dimensions {dimensions} of "
            f"literal sizes; expected a kernel of {maker}()"
        )
    return extents
