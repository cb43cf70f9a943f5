"""Schedules and their compilation, imported when a call has to make code.

The modules behind these functions import the checker, the passes and the autoscheduler, which takes
longer than a call whose code is on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polysched.ir.core.kernel import Kernel
    from polysched.machine.description import Machine
    from polysched.runtime.kernel import CompiledKernel
    from polysched.user import Schedule


def unscheduled(kernel: Kernel) -> Schedule:
    """The schedule without steps, which runs a kernel in program order."""
    from polysched.user import Schedule  # noqa: PLC0415  (see the module)

    return Schedule(kernel)


def compiled(schedule: Schedule, machine: Machine) -> CompiledKernel:
    """Prove and compile a schedule: :func:`polysched.lower.compile`."""
    from polysched.lower import compile  # noqa: PLC0415  (see the module)

    return compile(schedule, machine)
