"""The sizes of a library kernel, read from its arrays: a schedule needs nothing but the kernel."""

from __future__ import annotations

from polysched.errors import ScheduleError
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Kernel


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
