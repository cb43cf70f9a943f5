"""Check for steps that make a buffer: the elements that statements touch must be known exactly."""

from __future__ import annotations

from collections.abc import Iterable

from polysched.errors import ScheduleError
from polysched.ir.core.data_dependent import outermost_loads
from polysched.ir.core.printing import format_access, format_element
from polysched.schedule.core.program import Program


def require_exact_accesses(
    program: Program, array: str, statements: Iterable[str], where: str
) -> None:
    """Check that statements access an array with affine subscripts only.

    Args:
        where: the location of the buffer, for the message: ``loop 'i'``.
    """
    for name in statements:
        for access in program.statements[name].accesses:
            if access.array == array and access.is_data_dependent:
                load = outermost_loads(access.subscripts)[0]
                raise ScheduleError(
                    f"array '{array}' cannot have a buffer at {where}: statement '{name}' accesses "
                    f"{format_access(access)}, and {format_element(load.array, load.subscripts)} "
                    "is known only when the kernel runs, so which elements the buffer must hold is "
                    f"not; buffers take arrays with affine subscripts, '{load.array}' for example"
                )
