"""The one place where the schedule of a Python function that is called is chosen."""

from __future__ import annotations

from collections.abc import Mapping

from polysched.ir.core.kernel import Kernel
from polysched.machine.load import as_machine
from polysched.user import Schedule, optimize


def chosen_schedule(
    kernel: Kernel, *, threads: int | None, sizes: Mapping[str, int] | None = None
) -> Schedule:
    """The schedule by which a call runs a kernel: the autoscheduler's.

    Args:
        kernel: the kernel.
        threads: the number of threads that a call may use; None for all.
        sizes: values of parameters for which to predict costs; the schedule is legal for all.
    """
    team = threads or max(1, as_machine().cores_usable)
    return optimize(kernel, threads=team, sizes=sizes)
