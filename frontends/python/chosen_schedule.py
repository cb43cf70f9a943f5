"""The one place where the schedule of a Python function that is called is chosen."""

from __future__ import annotations

from polysched.ir.core.kernel import Kernel
from polysched.user import Schedule


def chosen_schedule(kernel: Kernel, *, threads: int | None) -> Schedule:
    """The schedule by which a call runs a kernel: the program as written.

    Args:
        kernel: the kernel.
        threads: the number of threads that a call may use; None for all.
    """
    del threads  # the program as written has no parallel loop
    return Schedule(kernel)
